//! Faults on the event streams: what becomes of an event on its way to those who listen.
//!
//! Invariant: events of a type are counted from 1 as they are published, whoever listens; heartbeats and the first
//! word of a stream are no events of the bus.

use super::engine::{About, Event};
use rehang_scenario::{Canon, EventDoes, EventFault, Fault, VTime};

/// What becomes of the streams.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Passed {
    /// This event arrives.
    Event(Event),
    /// All open streams are closed here.
    Cut,
    /// From here on all open streams are silent.
    Mute,
}

/// The faults of the event streams of one server.
#[derive(Debug, Clone, Default)]
pub struct EventFaults {
    faults: Vec<(EventFault, u32)>,
    /// An event that arrives behind the next one.
    swapped: Option<Event>,
    /// Events that arrive later, in the order of their delays' begin.
    late: Vec<(VTime, Event)>,
}

impl EventFaults {
    /// Those among a plan's faults.
    pub fn new(faults: &[Fault]) -> EventFaults {
        let event = |fault: &Fault| match fault {
            Fault::Event(event) => Some((event.clone(), 0)),
            _ => None,
        };
        EventFaults { faults: faults.iter().filter_map(event).collect(), swapped: None, late: Vec::new() }
    }

    /// An event is published: what arrives now.
    pub fn pass(&mut self, now: VTime, event: Event) -> Vec<Passed> {
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
        let mut all = Vec::with_capacity(2);
        let behind = match does {
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
        all.extend(behind.map(Passed::Event));
        all
    }

    /// Events whose delay is over.
    pub fn due(&mut self, now: VTime) -> Vec<Event> {
        let (due, late) = std::mem::take(&mut self.late).into_iter().partition(|(at, _)| *at <= now);
        self.late = late;
        let due: Vec<(VTime, Event)> = due;
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

    /// Writes the state.
    pub fn canon(&self, canon: &mut Canon) {
        let Self { faults, swapped, late } = self;
        // The faults themselves never change; what has been counted towards each is compared.
        canon.list(faults, |canon, (fault, seen)| {
            canon.capped((*seen).into(), fault.nth.into());
        });
        // `Debug` is derived for events, so it says the whole of each.
        canon.text(&format!("{swapped:?}"));
        canon.list(late, |canon, (at, event)| {
            canon.deadline(Some(*at)).text(&format!("{event:?}"));
        });
    }
}

/// Whether a fault names this event: by its type, or a status by `session.status:idle` too.
fn names(kind: &str, event: &Event) -> bool {
    match kind.split_once(':') {
        None => kind == event.kind,
        Some((kind, word)) => kind == event.kind && event.about == About::Status(word == "busy"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rehang_scenario::Span;

    fn event(kind: &'static str) -> Event {
        Event { kind, session: None, json: String::new(), about: About::Other, id: None }
    }

    fn faults(kind: &str, nth: u32, does: EventDoes) -> EventFaults {
        EventFaults::new(&[Fault::Event(EventFault { kind: kind.to_owned(), nth, does })])
    }

    fn kinds(passed: Vec<Passed>) -> Vec<&'static str> {
        let kind = |passed| match passed {
            Passed::Event(event) => event.kind,
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
    fn a_swapped_event_comes_behind_the_next() {
        let mut swapped = faults("a", 1, EventDoes::Reorder);
        assert!(swapped.pass(VTime(0), event("a")).is_empty());
        assert_eq!(kinds(swapped.pass(VTime(0), event("b"))), ["b", "a"]);
    }

    #[test]
    fn what_is_held_back_and_what_was_counted_is_compared() {
        let state = |does, passed: &[&str]| {
            let mut held = faults("a", 3, does);
            for json in passed {
                let event = Event { json: (*json).to_owned(), ..event("a") };
                held.pass(VTime(0), event);
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
}
