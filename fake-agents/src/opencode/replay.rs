//! What a client missed while it was away; it is sent again when the client comes back (PawWork 2837fabbb,
//! `event-replay.ts`).
//!
//! Invariants: only rare events on which a session or an ask depends are kept, 2,048 of them and for five minutes; a
//! client gets all that it missed, in order, or only the event that makes it ask for everything. (The real one does so
//! only on `/global/event`, and forgets a directory's events when its instance is disposed of.)

use super::engine::Event;
use rehang_scenario::{Canon, Span, VTime};
use std::collections::VecDeque;

/// The most events that are kept (DEFAULT_MAX_RECORDS).
const RECORDS_MAX: usize = 2_048;
/// How long they are kept (DEFAULT_MAX_AGE_MS).
const AGE_MAX: Span = Span::mins(5);
/// The types of events that are kept; what the model says is not among them.
const KEPT: [&str; 12] = [
    "permission.asked",
    "permission.replied",
    "question.asked",
    "question.rejected",
    "question.replied",
    "server.instance.disposed",
    "session.blocker.removed",
    "session.blocker.upserted",
    "session.created",
    "session.deleted",
    "session.status",
    "session.updated",
];

/// The kept events of one boot of a server.
#[derive(Debug)]
pub struct Replay {
    boot: String,
    seq: u64,
    records: VecDeque<Record>,
}

#[derive(Debug)]
struct Record {
    seq: u64,
    at: VTime,
    kind: &'static str,
    json: String,
}

/// What a client is told first.
#[derive(Debug, PartialEq, Eq)]
pub enum Welcome {
    /// It is new, or what it missed is gone: it is told that it is connected, and its cursor goes on from this id.
    Connected(String),
    /// The ids and texts of the events that it missed.
    Missed(Vec<(String, String)>),
}

impl Replay {
    /// The store of a server that boots now.
    pub fn new(now: VTime) -> Replay {
        Replay { boot: format!("boot-{}", now.0), seq: 0, records: VecDeque::new() }
    }

    /// Keeps an event, if its type is kept; returns its id.
    pub fn keep(&mut self, now: VTime, event: &Event) -> Option<String> {
        if !KEPT.contains(&event.kind) {
            return None;
        }
        self.seq += 1;
        self.records.push_back(Record { seq: self.seq, at: now, kind: event.kind, json: event.json.clone() });
        self.prune(now);
        Some(self.id(self.seq))
    }

    /// What a client that comes with this cursor (`Last-Event-ID`) is told.
    pub fn welcome(&mut self, now: VTime, cursor: Option<&str>) -> Welcome {
        self.prune(now);
        let newest = Welcome::Connected(self.id(self.seq));
        let of_this_boot = |(boot, seq): (&str, &str)| (boot == self.boot).then(|| seq.parse::<u64>().ok()).flatten();
        let Some(seen) = cursor.and_then(|cursor| cursor.rsplit_once(':')).and_then(of_this_boot) else {
            return newest;
        };
        // everything between what it has seen and the first kept event is gone
        let first = self.records.front().map_or(self.seq + 1, |record| record.seq);
        if seen > self.seq || seen + 1 < first {
            return newest;
        }
        let missed = self.records.iter().filter(|record| record.seq > seen);
        Welcome::Missed(missed.map(|record| (self.id(record.seq), record.json.clone())).collect())
    }

    /// Writes the state. Numbers and texts matter only if a client has a cursor that is not the newest; `behind`: a
    /// client may have one, or get one. Otherwise every client that comes back has seen all that is kept now.
    pub fn canon(&self, behind: bool, canon: &mut Canon) {
        let Self { boot, seq, records } = self;
        canon.flag(behind);
        if behind {
            canon.text(boot).num(*seq);
        }
        let now = canon.now();
        // An old event is dropped before it can be sent.
        let young: Vec<&Record> = records.iter().filter(|record| now.since(record.at) <= AGE_MAX).collect();
        canon.list(&young, |canon, Record { seq, at, kind, json }| {
            canon.text(kind).age(*at, AGE_MAX);
            if behind {
                canon.num(*seq).text(json);
            }
        });
    }

    fn id(&self, seq: u64) -> String {
        format!("{}:{seq}", self.boot)
    }

    fn prune(&mut self, now: VTime) {
        let old = |record: &Record| now.since(record.at) > AGE_MAX;
        while self.records.len() > RECORDS_MAX || self.records.front().is_some_and(old) {
            self.records.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::engine::About;
    use super::*;

    fn event(kind: &'static str) -> Event {
        Event { kind, session: None, json: kind.to_owned(), about: About::Other, id: None }
    }

    /// Some events at these instants, and what a client that has seen `cursor` is told at `now`.
    fn told(events: &[(u64, &'static str)], now: u64, cursor: Option<&str>) -> Welcome {
        let mut replay = Replay::new(VTime(7));
        for (at, kind) in events {
            replay.keep(VTime(*at), &event(kind));
        }
        replay.welcome(VTime(now), cursor)
    }

    fn missed(ids: &[(&str, &str)]) -> Welcome {
        Welcome::Missed(ids.iter().map(|(id, json)| ((*id).to_owned(), (*json).to_owned())).collect())
    }

    fn connected(id: &str) -> Welcome {
        Welcome::Connected(id.to_owned())
    }

    const BOTH: [(u64, &str); 3] =
        [(10, "question.asked"), (20, "message.part.updated"), (30, "session.blocker.upserted")];

    #[test]
    fn what_came_behind_the_cursor_is_told_in_order() {
        let both = [("boot-7:1", "question.asked"), ("boot-7:2", "session.blocker.upserted")];
        assert_eq!(told(&BOTH, 40, Some("boot-7:0")), missed(&both));
        assert_eq!(told(&BOTH, 40, Some("boot-7:1")), missed(&both[1..]));
        assert_eq!(told(&BOTH, 40, Some("boot-7:2")), missed(&[]), "nothing missed is no reason to begin anew");
    }

    #[test]
    fn who_is_new_gets_a_cursor() {
        assert_eq!(told(&BOTH, 40, None), connected("boot-7:2"));
        assert_eq!(told(&[], 40, None), connected("boot-7:0"));
    }

    #[test]
    fn a_cursor_that_is_none_of_this_boot_begins_anew() {
        for cursor in ["", "boot-7", "boot-7:", "boot-7:x", "boot-7:-1", "boot-8:1", ":1", "boot-7:3"] {
            assert_eq!(told(&BOTH, 40, Some(cursor)), connected("boot-7:2"), "{cursor}");
        }
    }

    #[test]
    fn five_minutes_are_kept_and_a_gap_is_never_filled_in_part() {
        let five = 5 * 60_000;
        assert_eq!(told(&BOTH, five + 10, Some("boot-7:1")), missed(&[("boot-7:2", "session.blocker.upserted")]));
        assert_eq!(told(&BOTH, five + 11, Some("boot-7:0")), connected("boot-7:2"), "the first is gone");
        assert_eq!(
            told(&BOTH, five + 11, Some("boot-7:1")),
            missed(&[("boot-7:2", "session.blocker.upserted")]),
            "the first was seen"
        );
        assert_eq!(told(&BOTH, five + 31, Some("boot-7:1")), connected("boot-7:2"), "all are gone");
        assert_eq!(told(&BOTH, five + 31, Some("boot-7:2")), missed(&[]), "and all were seen");
    }

    #[test]
    fn what_is_kept_is_compared_where_a_cursor_may_lie_behind_it() {
        let state = |numbered: u64, json: &str, behind| {
            let mut replay = Replay::new(VTime(7));
            // the same number of events is long gone
            for _ in 0..numbered {
                replay.keep(VTime(10), &event("session.status"));
            }
            let told = Event { json: json.to_owned(), ..event("question.asked") };
            replay.keep(VTime(1_000_000), &told);
            let mut canon = Canon::new(VTime(1_000_000));
            replay.canon(behind, &mut canon);
            canon.into_bytes()
        };
        assert_ne!(state(1, "a", true), state(1, "b", true), "what is told");
        assert_ne!(state(1, "a", true), state(2, "a", true), "how much was missed");
        assert_eq!(state(1, "a", false), state(2, "b", false), "everybody has seen it");
        let two = |second: bool| {
            let mut replay = Replay::new(VTime(7));
            replay.keep(VTime(10), &event("question.asked"));
            second.then(|| replay.keep(VTime(10), &event("question.asked")));
            let mut canon = Canon::new(VTime(10));
            replay.canon(false, &mut canon);
            canon.into_bytes()
        };
        assert_ne!(two(false), two(true), "one more");
    }

    #[test]
    fn so_many_are_kept() {
        let mut replay = Replay::new(VTime(7));
        for _ in 0..=RECORDS_MAX {
            replay.keep(VTime(10), &event("session.status"));
        }
        assert_eq!(replay.welcome(VTime(10), Some("boot-7:0")), connected("boot-7:2049"));
        let Welcome::Missed(all) = replay.welcome(VTime(10), Some("boot-7:1")) else { panic!("a gap") };
        assert_eq!((all.len(), all[0].0.as_str()), (RECORDS_MAX, "boot-7:2"));
    }
}
