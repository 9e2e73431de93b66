//! The proof of a lasso: the whole state repeats exactly, so that what happened in between happens for ever.
//!
//! Invariant: flat memory (Brent's algorithm: one state is kept, and replaced ever more rarely). Sound because the state
//! is whole (`canon` names every field, and a field that it leaves out says why), transitions are deterministic, and
//! none depends on absolute time. A process that a cycle starts has another name in each round, and a name decides at
//! ties alone: a cycle in which such a process was at a tie is no proof (`Ties::newest`). A state has two halves: the scheduler's own, which costs nothing to write, and the
//! world's, for which every process is asked. If the first half differs from what is kept, the second is not asked for;
//! a state that will not be kept is only compared, and written no further than to where it differs.

use rehang_scenario::{Canon, Span, VTime};
use rehang_trace::Event;

/// How the proof of a lasso is treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Proofs {
    /// The first state that repeats ends the cell.
    Claimed,
    /// As `Claimed`, and then the cycle is played once more: it must bring the same events and the same state.
    #[default]
    Replayed,
    /// None is claimed: the cell goes on to its end, its deadlock or its horizon. If such a run settles, a lasso that
    /// was claimed in it was false.
    Off,
}

/// Instants without a material event before states are compared: most runs end before that.
const FREE_INSTANTS: u32 = 3;

/// The place in a run where a state was looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The virtual time of the place.
    pub now: VTime,
    /// Its ordinal among the places of its kind: steps within an instant, or instants.
    pub ordinal: u64,
    /// How many events there were before it.
    pub events: usize,
    /// How many processes were started before it.
    pub spawned: u32,
}

/// The whole state at one place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct State {
    /// The scheduler's half of the state.
    pub own: Vec<u8>,
    /// The world's half of the state.
    pub kernel: Vec<u8>,
}

/// A half of the whole state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Half {
    /// The scheduler's own.
    Own,
    /// The world's.
    Kernel,
}

impl State {
    /// The whole state at this instant, as `write` writes its halves.
    ///
    /// # Errors
    /// The errors of `write`.
    pub fn of<E>(now: VTime, mut write: impl FnMut(Half, &mut Canon) -> Result<(), E>) -> Result<State, E> {
        Ok(State { own: written(now, Half::Own, &mut write)?, kernel: written(now, Half::Kernel, &mut write)? })
    }
}

fn written<E>(now: VTime, half: Half, mut write: impl FnMut(Half, &mut Canon) -> Result<(), E>) -> Result<Vec<u8>, E> {
    let mut canon = Canon::new(now);
    write(half, &mut canon)?;
    Ok(canon.into_bytes())
}

/// A state that has repeated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cycle {
    /// Where it was seen first.
    pub from: Place,
    /// Where it was seen again.
    pub to: Place,
    /// The repeated state itself.
    pub state: State,
}

impl Cycle {
    /// How long the cycle takes, in virtual time.
    pub fn span(&self) -> Span {
        self.to.now.since(self.from.now)
    }

    /// How many places of its kind it has.
    pub fn length(&self) -> u64 {
        self.to.ordinal - self.from.ordinal
    }

    /// Where the events of its replay differ from its own, if they do: the index of the first, from 0.
    pub fn differs(&self, events: &[Event]) -> Option<usize> {
        let (first, second) = (&events[self.from.events..self.to.events], &events[self.to.events..]);
        let pairs = first.iter().zip(second);
        let odd = pairs.enumerate().find(|(_, (a, b))| a.t + self.span() != b.t || unnumbered(a) != unnumbered(b));
        odd.map(|(at, _)| at).or((first.len() != second.len()).then(|| first.len().min(second.len())))
    }
}

/// An event without its time and without what counts up: a word that holds a digit is replaced by a placeholder.
fn unnumbered(event: &Event) -> String {
    let text = format!("{} {:?}", event.who, event.what);
    let mut out = String::with_capacity(text.len());
    for word in text.split_inclusive(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))) {
        match word.bytes().any(|b| b.is_ascii_digit()) {
            true => {
                out.push('#');
                out.extend(word.chars().last().filter(|c| !c.is_ascii_alphanumeric()));
            }
            false => out.push_str(word),
        }
    }
    out
}

/// Looks for a repeating state.
#[derive(Debug, Default)]
pub struct Proof {
    material: u64,
    instants: u32,
    kept: Option<(State, Place)>,
    power: u32,
    length: u32,
}

impl Proof {
    /// Whether states are compared at this quiescent instant, after this many material events.
    pub fn is_due(&mut self, material: u64) -> bool {
        if material != self.material {
            *self = Proof { material, ..Proof::default() };
        }
        self.instants = self.instants.saturating_add(1);
        self.instants > FREE_INSTANTS
    }

    /// The cycle, if the state at this place is the one that is kept. `write` writes a half of it.
    ///
    /// # Errors
    /// The errors of `write`.
    pub fn repeats<E>(
        &mut self,
        place: Place,
        mut write: impl FnMut(Half, &mut Canon) -> Result<(), E>,
    ) -> Result<Option<Cycle>, E> {
        let Some((kept, from)) = &mut self.kept else {
            self.power = 1;
            self.kept = Some((State::of(place.now, write)?, place));
            return Ok(None);
        };
        let from = *from;
        if self.length + 1 < self.power {
            self.length += 1;
            for (half, bytes) in [(Half::Own, &mut kept.own), (Half::Kernel, &mut kept.kernel)] {
                let mut canon = Canon::against(place.now, std::mem::take(bytes));
                let came = write(half, &mut canon);
                let is_same = canon.is_same();
                *bytes = canon.into_bytes();
                came?;
                if !is_same {
                    return Ok(None);
                }
            }
            return Ok(Some(Cycle { from, to: place, state: kept.clone() }));
        }
        let state = State::of(place.now, write)?;
        if *kept == state {
            return Ok(Some(Cycle { from, to: place, state }));
        }
        // not exactly twice as long, so that what is kept is not the same phase of every short cycle
        self.power = self.power.saturating_mul(2).saturating_add(1);
        self.length = 0;
        self.kept = Some((state, place));
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cycle_of(states: impl Iterator<Item = u8>) -> Option<u64> {
        let mut proof = Proof::default();
        for (at, state) in states.enumerate() {
            let now = VTime(at as u64 * 1_000);
            // the halves change at different instants: neither alone repeats unless the state does
            let write = |half: Half, canon: &mut Canon| {
                canon.num(u64::from(if half == Half::Own { state / 8 } else { state % 8 }));
                Ok::<_, ()>(())
            };
            if !proof.is_due(0) {
                continue;
            }
            let place = Place { now, ordinal: at as u64, events: 0, spawned: 0 };
            if let Ok(Some(cycle)) = proof.repeats(place, write) {
                assert_eq!(cycle.length() * 1_000, cycle.span().as_ms());
                return Some(cycle.span().as_ms());
            }
        }
        None
    }

    #[test]
    fn finds_a_cycle_after_a_tail() {
        assert_eq!(cycle_of((0..40).chain((0..100).map(|i| 100 + i % 7))), Some(7_000));
    }

    #[test]
    fn finds_none_if_nothing_repeats() {
        assert_eq!(cycle_of(0..200), None);
    }

    #[test]
    fn a_material_event_begins_anew() {
        let mut proof = Proof::default();
        for at in 0..100 {
            assert!(!proof.is_due(at), "{at}");
        }
    }

    #[test]
    fn the_world_is_asked_only_where_it_decides() {
        let mut proof = Proof::default();
        let mut asked = 0;
        for at in 0..1_000_u64 {
            let write = |half: Half, canon: &mut Canon| {
                asked += u64::from(half == Half::Kernel);
                canon.num(if half == Half::Own { at } else { 1 });
                Ok::<_, ()>(())
            };
            assert_eq!(proof.repeats(Place { now: VTime(at), ordinal: at, events: 0, spawned: 0 }, write), Ok(None));
        }
        // kept at first, and then after 1, 3, 7, … others
        assert_eq!(asked, 9);
    }

    fn event(t: u64, text: &str) -> Event {
        Event { t: VTime(t), who: "agent~2".into(), what: rehang_trace::What::Says(text.into()) }
    }

    fn cycle(from: usize, to: usize) -> Cycle {
        let place =
            |events: usize| Place { now: VTime(events as u64 * 10), ordinal: events as u64, events, spawned: 0 };
        Cycle { from: place(from), to: place(to), state: State { own: Vec::new(), kernel: Vec::new() } }
    }

    #[test]
    fn a_replay_has_the_same_events_but_for_what_counts_up() {
        let mut events = vec![event(0, "begins"), event(10, "asks que_7 of 12"), event(20, "asks que_8 of 13")];
        assert_eq!(cycle(1, 2).differs(&events), None);
        events[2] = event(20, "asks que_8 in 13");
        assert_eq!(cycle(1, 2).differs(&events), Some(0), "another word");
        events[2] = event(21, "asks que_8 of 13");
        assert_eq!(cycle(1, 2).differs(&events), Some(0), "another time");
        events.truncate(2);
        assert_eq!(cycle(1, 2).differs(&events), Some(0), "fewer events");
    }
}
