//! When two runs of a cell that come to a tie in different ways need only one continuation.
//!
//! Invariant: equal keys mean the same whole state (as the proof of a lasso compares it), at the same virtual time, before
//! the same candidates, after histories that the judge cannot tell apart. So all that can follow is the same, and so is
//! each verdict on it. With [`Merging::Exact`] two histories are the same if their events are, in their order. With
//! [`Merging::Judged`] what one party does keeps its order, and so does all that the judge [reads by its place](is_placed)
//! among other parties' events; each of those but a poll also remembers whether anything but a strategy's looks came before it in its instant (the
//! judge's `unsaid` asks that). The order of the rest within an instant is forgotten: the judge reads it by party and time.
//! The test `merging_loses_no_verdict` compares both, and a search without merging. What a cell is given up by (steps, bytes
//! of text) is in no key: a cell near those limits may be merged with one that is a few steps nearer.

use rehang_scenario::VTime;
use rehang_scenario::attribution::said_in;
use rehang_stage::Tie;
use rehang_trace::role::{Actor, actor};
use rehang_trace::{Event, Fact, Name, What};
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hasher};

/// What is compared: 128 bits.
pub type Key = (u64, u64);

/// Which ties count as the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Merging {
    /// Those after which the judge can tell no difference.
    Judged,
    /// Those before which the same events happened in the same order.
    Exact,
    /// None.
    Never,
}

/// A history so far, as the judge reads it.
#[derive(Debug)]
pub struct History {
    merging: Merging,
    /// How many events were read.
    read: usize,
    /// The events whose place is read.
    placed: Sum,
    /// The instant of the last other event, but for what strategies see and say.
    other_at: Option<VTime>,
    /// All events, by party.
    of: BTreeMap<Name, Sum>,
    line: Vec<u8>,
}

/// A hash of 128 bits: the same bytes from two beginnings.
#[derive(Debug, Clone)]
struct Sum(DefaultHasher, DefaultHasher);

impl Default for Sum {
    fn default() -> Sum {
        let (first, mut second) = (DefaultHasher::new(), DefaultHasher::new());
        second.write_u8(1);
        Sum(first, second)
    }
}

impl Sum {
    fn add(&mut self, bytes: &[u8]) {
        for half in [&mut self.0, &mut self.1] {
            half.write_usize(bytes.len());
            half.write(bytes);
        }
    }

    fn finish(&self) -> Key {
        (self.0.finish(), self.1.finish())
    }

    fn add_key(&mut self, key: Key) {
        self.add(&key.0.to_le_bytes());
        self.add(&key.1.to_le_bytes());
    }
}

impl History {
    /// The history of a run that begins.
    pub fn new(merging: Merging) -> History {
        let (placed, of, line) = (Sum::default(), BTreeMap::new(), Vec::new());
        History { merging, read: 0, placed, other_at: None, of, line }
    }

    /// Reads the events that came since the last time.
    fn read(&mut self, events: &[Event]) {
        for event in &events[self.read.min(events.len())..] {
            self.line.clear();
            // an event can always be written as JSON; if one could not, nothing would be merged after it
            let written = serde_json::to_writer(&mut self.line, event);
            if written.is_err() || self.merging == Merging::Exact || is_placed(&event.what) {
                self.placed.add(&self.line);
                self.placed.add(&[u8::from(!is_poll(&event.what) && self.other_at == Some(event.t))]);
            } else if !matches!(event.what, What::Looked { .. }) && actor(&event.who) != Actor::Strategy {
                self.other_at = Some(event.t);
            }
            self.of.entry(event.who.clone()).or_default().add(&self.line);
        }
        self.read = events.len();
    }

    /// The key of a tie whose state was written.
    pub fn key(&mut self, tie: &Tie<'_>) -> Option<Key> {
        let state = tie.state.as_ref()?;
        self.read(tie.events);
        let mut sum = Sum::default();
        sum.add(&tie.now.0.to_le_bytes());
        sum.add(&tie.landing.map_or([u8::MAX; 8], |until| until.0.to_le_bytes()));
        sum.add(&state.own);
        sum.add(&state.kernel);
        for candidate in tie.candidates {
            sum.add(candidate.as_bytes());
        }
        sum.add_key(self.placed.finish());
        for (who, of) in &self.of {
            sum.add(who.as_bytes());
            sum.add_key(of.finish());
        }
        Some(sum.finish())
    }
}

/// Whether it is a look over HTTP or its answer: never a deed.
fn is_poll(what: &What) -> bool {
    match what {
        What::Request { method, .. } => method == "GET",
        What::Response { .. } => true,
        _ => false,
    }
}

/// Whether the judge reads the place of such an event among those of other parties: not that of bytes, of the client's own
/// events and of looks, unless they say that the user did something (`attributed-to-user`) or carry a tool's result
/// (`double-or-invented-reply`).
fn is_placed(what: &What) -> bool {
    let text = match what {
        What::Out { text, .. } | What::Says(text) | What::Fact(Fact::ModelSaid { text, .. }) => text,
        What::Sse(body) => body.text(),
        What::Adopted | What::OutEnd { .. } | What::SseEnd | What::Looked { .. } => return false,
        _ => return true,
    };
    text.contains("tool_result") || said_in(text).next().is_some()
}
