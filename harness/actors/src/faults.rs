//! Faults on the wire between a server and its clients: what happens to an event, and what happens to a request.
//!
//! Invariant: events of a type are counted from 1 as they are published, whether or not anybody listens; heartbeats and
//! the first event of a stream are not events of the bus. Prompts are counted from 1, separately from all other
//! requests.

use rehang_scenario::{Canon, EventDoes, EventFault, Fault, PostDoes, VTime};
use smallvec::SmallVec;
use std::hash::Hash;

/// An event that a server publishes.
pub trait Published: Clone + Hash {
    /// The event's type, such as `question.asked`.
    fn kind(&self) -> &str;
    /// If it says a session's status: whether that is busy.
    fn busy(&self) -> Option<bool>;
}

/// What happens on the streams.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Passed<E> {
    /// This event arrives.
    Event(E),
    /// All open streams are closed here.
    Cut,
    /// From here on all open streams are silent.
    Mute,
}

/// The faults of the event streams of one server.
#[derive(Debug, Clone)]
pub struct EventFaults<E> {
    faults: Vec<(EventFault, u32)>,
    /// An event that arrives after the next one.
    swapped: Option<E>,
    /// Events that arrive later, in the order in which their delays began.
    late: Vec<(VTime, E)>,
}

impl<E: Published> EventFaults<E> {
    /// The faults of this kind in a plan.
    pub fn new(faults: &[Fault]) -> EventFaults<E> {
        let event = |fault: &Fault| match fault {
            Fault::Event(event) => Some((event.clone(), 0)),
            _ => None,
        };
        EventFaults { faults: faults.iter().filter_map(event).collect(), swapped: None, late: Vec::new() }
    }

    /// An event is published; returns what arrives now.
    pub fn pass(&mut self, now: VTime, event: E) -> SmallVec<[Passed<E>; 2]> {
        let mut does = None;
        for (fault, seen) in &mut self.faults {
            if !names(&fault.kind, &event) {
                continue;
            }
            *seen = seen.saturating_add(1);
            if fault.nth == 0 || fault.nth == *seen {
                does.get_or_insert(fault.does);
            }
        }
        let mut all = SmallVec::new();
        let after = match does {
            None => {
                all.push(Passed::Event(event));
                self.swapped.take()
            }
            Some(EventDoes::Drop) => None,
            Some(EventDoes::Duplicate) => {
                all.push(Passed::Event(event.clone()));
                all.push(Passed::Event(event));
                self.swapped.take()
            }
            Some(EventDoes::Reorder) => self.swapped.replace(event),
            Some(EventDoes::Delay(span)) => {
                self.late.push((now + span, event));
                None
            }
            Some(EventDoes::Cut(_)) => {
                all.push(Passed::Cut);
                None
            }
            Some(EventDoes::Mute) => {
                all.push(Passed::Mute);
                None
            }
        };
        all.extend(after.map(Passed::Event));
        all
    }

    /// Events whose delay is over.
    pub fn due(&mut self, now: VTime) -> Vec<E> {
        let (due, late) = std::mem::take(&mut self.late).into_iter().partition(|(at, _)| *at <= now);
        self.late = late;
        let due: Vec<(VTime, E)> = due;
        due.into_iter().map(|(_, event)| event).collect()
    }

    /// Whether there is any fault at all.
    pub fn any(&self) -> bool {
        !self.faults.is_empty()
    }

    /// When the next delay is over.
    pub fn deadline(&self) -> Option<VTime> {
        self.late.iter().map(|(at, _)| *at).min()
    }

    /// Writes the state for the comparison of cycles.
    pub fn canon(&self, canon: &mut Canon) {
        let Self { faults, swapped, late } = self;
        // The faults themselves never change; what has been counted towards each is compared.
        canon.list(faults, |canon, (fault, seen)| {
            canon.capped((*seen).into(), fault.nth.into());
        });
        // `Hash` is derived for events, so it writes the whole of each.
        canon.value(swapped);
        canon.list(late, |canon, (at, event)| {
            canon.deadline(Some(*at)).value(event);
        });
    }
}

/// Whether a fault names this event: by its type, or a status by `session.status:idle` too.
fn names(kind: &str, event: &impl Published) -> bool {
    match kind.split_once(':') {
        None => kind == event.kind(),
        Some((kind, word)) => kind == event.kind() && event.busy() == Some(word == "busy"),
    }
}

/// The faults of the requests to one server, and how often each has struck.
#[derive(Debug, Clone)]
pub struct RequestFaults {
    faults: Vec<Fault>,
    prompts: u32,
    /// How often each has struck, by the fault's place among them.
    used: Vec<u32>,
}

impl RequestFaults {
    /// The faults of this kind in a plan.
    pub fn new(faults: &[Fault]) -> RequestFaults {
        let of = |fault: &&Fault| matches!(fault, Fault::Post(_) | Fault::Get(_));
        let faults: Vec<Fault> = faults.iter().filter(of).cloned().collect();
        RequestFaults { used: vec![0; faults.len()], faults, prompts: 0 }
    }

    /// A prompt arrives; returns what happens to it.
    pub fn prompt(&mut self) -> Option<PostDoes> {
        self.prompts = self.prompts.saturating_add(1);
        self.faults.iter().find_map(|fault| match fault {
            Fault::Post(post) if post.nth == self.prompts => Some(post.does),
            _ => None,
        })
    }

    /// Any other request arrives, for this path; returns the status that it gets instead of an answer; 0 closes its
    /// connection.
    pub fn other(&mut self, path: impl FnOnce() -> String) -> Option<u16> {
        if !self.faults.iter().any(|fault| matches!(fault, Fault::Get(_))) {
            return None;
        }
        let path = path();
        for (fault, used) in self.faults.iter().zip(&mut self.used) {
            let Fault::Get(get) = fault else { continue };
            if get.fits(&path) && (get.times == 0 || *used < get.times) {
                *used = used.saturating_add(1);
                return Some(get.status);
            }
        }
        None
    }

    /// Writes the state for the comparison of cycles.
    pub fn canon(&self, canon: &mut Canon) {
        let Self { faults, prompts, used } = self;
        let last = faults.iter().map(|fault| if let Fault::Post(post) = fault { post.nth } else { 0 }).max();
        canon.capped((*prompts).into(), last.unwrap_or(0).into());
        for (fault, used) in faults.iter().zip(used) {
            if let Fault::Get(get) = fault {
                canon.capped((*used).into(), get.times.into());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rehang_scenario::{GetFault, PostFault, Span};

    #[derive(Debug, Clone, Hash)]
    struct Said(&'static str, &'static str);

    impl Published for Said {
        fn kind(&self) -> &str {
            self.0
        }

        fn busy(&self) -> Option<bool> {
            (self.0 == "session.status").then_some(self.1 == "busy")
        }
    }

    fn event(kind: &'static str) -> Said {
        Said(kind, "")
    }

    fn faults(kind: &str, nth: u32, does: EventDoes) -> EventFaults<Said> {
        EventFaults::new(&[Fault::Event(EventFault { kind: kind.to_owned(), nth, does })])
    }

    fn kinds(passed: SmallVec<[Passed<Said>; 2]>) -> Vec<&'static str> {
        let kind = |passed| match passed {
            Passed::Event(Said(kind, _)) => kind,
            Passed::Cut => "cut",
            Passed::Mute => "mute",
        };
        passed.into_iter().map(kind).collect()
    }

    #[test]
    fn only_the_named_event_is_lost() {
        let mut lost = faults("a", 2, EventDoes::Drop);
        assert_eq!(kinds(lost.pass(VTime(0), event("a"))), ["a"]);
        assert_eq!(kinds(lost.pass(VTime(0), event("b"))), ["b"]);
        assert!(lost.pass(VTime(0), event("a")).is_empty());
        assert_eq!(kinds(lost.pass(VTime(0), event("a"))), ["a"]);
    }

    #[test]
    fn a_status_is_named_by_its_word_too() {
        let mut lost = faults("session.status:idle", 1, EventDoes::Drop);
        assert_eq!(lost.pass(VTime(0), Said("session.status", "busy")).len(), 1);
        assert_eq!(lost.pass(VTime(0), Said("session.status", "idle")).len(), 0);
    }

    #[test]
    fn a_swapped_event_comes_after_the_next() {
        let mut swapped = faults("a", 1, EventDoes::Reorder);
        assert!(swapped.pass(VTime(0), event("a")).is_empty());
        assert_eq!(kinds(swapped.pass(VTime(0), event("b"))), ["b", "a"]);
    }

    #[test]
    fn what_is_held_back_and_what_was_counted_is_compared() {
        let state = |does, passed: &[&'static str]| {
            let mut held = faults("a", 3, does);
            for text in passed {
                held.pass(VTime(0), Said("a", text));
            }
            let mut canon = Canon::new(VTime(0));
            held.canon(&mut canon);
            canon.into_bytes()
        };
        assert_ne!(state(EventDoes::Drop, &[""]), state(EventDoes::Drop, &["", ""]), "one more that counts");
        for does in [EventDoes::Reorder, EventDoes::Delay(Span(5))] {
            assert_ne!(state(does, &["", "", "x"]), state(does, &["", "", "y"]), "what is held back");
        }
    }

    #[test]
    fn a_late_event_comes_at_its_instant() {
        let mut late = faults("a", 1, EventDoes::Delay(Span(5)));
        assert!(late.pass(VTime(10), event("a")).is_empty());
        assert_eq!(late.deadline(), Some(VTime(15)));
        assert!(late.due(VTime(14)).is_empty());
        assert_eq!(late.due(VTime(15)).len(), 1);
    }

    #[test]
    fn prompts_and_other_requests_are_counted_apart() {
        let get = GetFault { path: "/question*".to_owned(), times: 2, status: 500 };
        let post = PostFault { nth: 2, does: PostDoes::Ignored };
        let mut faults = RequestFaults::new(&[Fault::Get(get), Fault::Post(post)]);
        assert_eq!([faults.prompt(), faults.prompt(), faults.prompt()], [None, Some(PostDoes::Ignored), None]);
        let paths = ["/session", "/question", "/question/q1/reply", "/question"];
        assert_eq!(paths.map(|path| faults.other(|| path.to_owned())), [None, Some(500), Some(500), None]);
    }
}
