//! The looks of all guards of this program, taken together.
//!
//! Most of a look's cost is to read the other processes of the machine, and that is the same for all guards: twenty looks in one
//! cost about as much as one. So a look waits for those of other guards that are due soon; from then on these guards look at the
//! same time, as long as nothing is said.
//!
//! Invariant: a look begins at most [`PATIENCE`] after it is asked for, and at once if no other guard's is due before then; or,
//! while a look is under way, when that is over.

use rehang_evidence::{Look, Subject, look_together};
use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long a look waits for others: half of the shortest time from one look of guard to the next.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long after its time a guard is still waited for.
const GRACE: Duration = Duration::from_millis(200);

/// Where looks are asked for.
struct Office {
    desk: Mutex<Desk>,
    /// Signalled after each change of the desk.
    changed: Condvar,
}

/// Who looks next.
struct Desk {
    /// When each guard will want to look, or to do something else.
    due: BTreeMap<u64, Instant>,
    waiting: Vec<Waiting>,
    /// A thread looks, or waits for others.
    is_open: bool,
    next_seat: u64,
}

/// A look that was asked for.
struct Waiting {
    seat: u64,
    since: Instant,
    subject: Subject,
    tell: Sender<Look>,
}

static OFFICE: Office = Office::new(false);

impl Office {
    const fn new(is_open: bool) -> Office {
        let desk = Desk { due: BTreeMap::new(), waiting: Vec::new(), is_open, next_seat: 0 };
        Office { desk: Mutex::new(desk), changed: Condvar::new() }
    }

    fn desk(&self) -> MutexGuard<'_, Desk> {
        // no panic leaves it half written
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the desk, and wakes the thread that waits for others.
    fn change<T>(&self, change: impl FnOnce(&mut Desk) -> T) -> T {
        let result = change(&mut self.desk());
        self.changed.notify_all();
        result
    }

    /// Waits until nobody else is to be waited for.
    fn wait_for_others<'o>(&self, mut desk: MutexGuard<'o, Desk>) -> MutexGuard<'o, Desk> {
        while let Some(rest) = desk.waits_for_others(Instant::now()) {
            desk = self.changed.wait_timeout(desk, rest).unwrap_or_else(PoisonError::into_inner).0;
        }
        desk
    }
}

/// A guard's place.
pub(crate) struct Seat {
    number: u64,
    office: &'static Office,
}

impl Seat {
    pub(crate) fn take() -> Seat {
        Seat::at(&OFFICE)
    }

    fn at(office: &'static Office) -> Seat {
        let mut desk = office.desk();
        desk.next_seat += 1;
        Seat { number: desk.next_seat, office }
    }

    /// When the guard is to be asked next, from now; `None` if it waits for nothing.
    pub(crate) fn is_due(&self, rest: Option<Duration>) {
        let at = rest.and_then(|rest| Instant::now().checked_add(rest));
        self.office.change(|desk| match at {
            Some(at) => drop(desk.due.insert(self.number, at)),
            None => drop(desk.due.remove(&self.number)),
        });
    }

    /// Has a look taken; `None` if the machine gives no more threads.
    pub(crate) fn look(&self, subject: Subject) -> Option<Receiver<Look>> {
        let (tell, told) = channel();
        let office = self.office;
        office.change(|desk| {
            desk.waiting.push(Waiting { seat: self.number, since: Instant::now(), subject, tell });
            if !desk.is_open {
                let begun = std::thread::Builder::new().name("rehang-look".to_owned()).spawn(|| run(office));
                desk.is_open = begun.is_ok();
            }
            desk.is_open.then_some(told)
        })
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.office.change(|desk| {
            desk.due.remove(&self.number);
            desk.waiting.retain(|waiting| waiting.seat != self.number);
        });
    }
}

/// Looks until no look is asked for.
fn run(office: &'static Office) {
    /// Says that nobody is at the desk any more, also after a panic.
    struct Open(&'static Office);
    impl Drop for Open {
        fn drop(&mut self) {
            self.0.desk().is_open = false;
        }
    }
    let open = Open(office);
    loop {
        let mut desk = office.wait_for_others(office.desk());
        let waiting = std::mem::take(&mut desk.waiting);
        if waiting.is_empty() {
            // while the desk is held, so that no request is left alone
            desk.is_open = false;
            std::mem::forget(open);
            return;
        }
        drop(desk);
        let subjects: Vec<Subject> = waiting.iter().map(|waiting| waiting.subject.clone()).collect();
        for (waiting, look) in waiting.into_iter().zip(look_together(&subjects)) {
            // nobody listens any more if the guard was freed meanwhile
            let _ = waiting.tell.send(look);
        }
    }
}

impl Desk {
    /// How long to wait for guards whose looks are due soon enough, unless the desk changes before then.
    fn waits_for_others(&self, now: Instant) -> Option<Duration> {
        let until = self.waiting.iter().map(|waiting| waiting.since + PATIENCE).min()?;
        let has_asked = |seat: u64| self.waiting.iter().any(|waiting| waiting.seat == seat);
        let others = self.due.iter().filter(|(seat, at)| !has_asked(**seat) && **at <= until);
        // one that is overdue is not asked any more: it is nobody to wait for
        let last = others.map(|(_, at)| *at + GRACE).max()?;
        Some(last.min(until).saturating_duration_since(now)).filter(|rest| !rest.is_zero())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waiting(seat: u64, since: Instant) -> Waiting {
        Waiting { seat, since, subject: subject(), tell: channel().0 }
    }

    fn subject() -> Subject {
        Subject { pid: 1, names: Default::default(), heard: Default::default(), asks: false }
    }

    #[test]
    fn a_look_waits_for_those_that_are_due_soon_and_for_no_other() {
        let now = Instant::now();
        let step = GRACE / 2;
        let desk = |due: &[(u64, Instant)]| Desk {
            due: due.iter().copied().collect(),
            waiting: Vec::new(),
            is_open: true,
            next_seat: 2,
        };
        let mut of = desk(&[(1, now), (2, now + PATIENCE)]);
        assert_eq!(of.waits_for_others(now), None, "nobody waits");
        of.waiting = vec![waiting(1, now)];
        assert_eq!(of.waits_for_others(now), Some(PATIENCE));
        assert_eq!(of.waits_for_others(now + PATIENCE - step), Some(step));
        assert_eq!(of.waits_for_others(now + PATIENCE), None, "patience is over");
        of.due = desk(&[(1, now + step), (2, now + PATIENCE + step)]).due;
        assert_eq!(of.waits_for_others(now), None, "its own does not count, nor one that is too late");
        of.due = desk(&[(2, now + step)]).due;
        assert_eq!(of.waits_for_others(now), Some(step + GRACE), "no longer than it is waited for");
        assert_eq!(of.waits_for_others(now + step + GRACE), None, "it is not asked any more");
    }

    /// Changes a desk at which a thread waits for an hour, and returns for how many looks it then goes on.
    fn woken_by(change: impl FnOnce(Seat, Seat)) -> usize {
        let office: &Office = Box::leak(Box::new(Office::new(true)));
        let (waits, other) = (Seat::at(office), Seat::at(office));
        let hour = Duration::from_secs(3_600);
        other.is_due(Some(hour));
        office.desk().waiting.push(waiting(waits.number, Instant::now() + hour));
        let (tell, told) = channel();
        let (done, is_done) = channel();
        std::thread::spawn(move || {
            let desk = office.desk();
            // a thread that takes the desk after this has it while the other one waits
            tell.send(()).unwrap();
            done.send(office.wait_for_others(desk).waiting.len()).unwrap();
        });
        told.recv().unwrap();
        drop(office.desk());
        change(waits, other);
        is_done.recv_timeout(Duration::from_secs(60)).expect("the change wakes it")
    }

    #[test]
    fn each_change_of_the_desk_wakes_a_look_that_waits() {
        let looks = woken_by(|waits, other| {
            assert!(other.look(subject()).is_some());
            std::mem::forget((waits, other));
        });
        assert_eq!(looks, 2, "the other has come");
        let looks = woken_by(|waits, other| {
            other.is_due(None);
            std::mem::forget((waits, other));
        });
        assert_eq!(looks, 1, "the other does not come");
        let looks = woken_by(|waits, other| {
            drop(other);
            std::mem::forget(waits);
        });
        assert_eq!(looks, 1, "the other was freed");
        let looks = woken_by(|waits, other| {
            drop(waits);
            std::mem::forget(other);
        });
        assert_eq!(looks, 0, "the one that asked was freed: nothing is left to do");
    }
}
