//! The anti-pattern: a silent model stream is given up, together with the question that it waits for.
//!
//! Invariant: the clock knows nothing of questions. A pending ask counts as silence, so it ends as `rejected` with no
//! other cause. (PawWork has asked its ledger since 2837fabbb: `ledger@v0`.)

use crate::canon::texts;
use crate::entry::Value;
use crate::{Act, Entry, Facts, InsideAct, InsideSeen, Param, Seat, Seen, Strategy, Wire};
use rehang_words::{Canon, Policy, Span, VTime};

/// The only version.
pub const ENTRIES: &[Entry] = &[Entry {
    name: "blind-timeout",
    seat: Seat::Inside,
    origin: "Astro-Han/pawwork llm.ts before 2837fabbb, 2026-05-06",
    summary: "aborts a model stream that was silent for 600 s, drains it as a success, and rejects what is asked in it",
    speaks: &[Wire::InOpencode],
    params: &[Param {
        name: "timeout",
        default: Value::Span(Span::secs(600)),
        doc: "the longest silence of a stream (SILENT_STREAM_TIMEOUT_MS 600 000); 0ms: off",
    }],
    build: |params| Box::new(Blind { timeout: params.span("timeout"), streams: Vec::new() }),
}];

#[derive(Debug, Clone)]
struct Blind {
    timeout: Span,
    /// The streams, in the order in which they began.
    streams: Vec<Watched>,
}

/// A session's stream: open while the model speaks, and while tools that it called wait for an answer.
#[derive(Debug, Clone)]
struct Watched {
    session: String,
    open: bool,
    asks: Vec<String>,
    due: VTime,
}

impl Blind {
    fn watch(&mut self, session: &str, due: VTime) -> &mut Watched {
        let i = self.streams.iter().position(|s| s.session == session).unwrap_or(self.streams.len());
        if i == self.streams.len() {
            self.streams.push(Watched { session: session.to_owned(), open: false, asks: Vec::new(), due });
        }
        &mut self.streams[i]
    }

    fn fire(&self, session: String, acts: &mut Vec<Act>) {
        let text = format!("no event on the model's stream for {}", self.timeout);
        acts.push(Act::Report(Policy {
            detected: Some("silent-stream".to_owned()),
            cause: Some("silent-stream".to_owned()),
            text: Some(text.clone()),
            constants: [("stream_timeout_ms".to_owned(), self.timeout.as_ms())].into(),
            ..Policy::default()
        }));
        acts.push(Act::Inside(InsideAct::AbortStream { session, fail: false, text, reject_asks: true }));
    }
}

impl Strategy for Blind {
    fn on(&mut self, now: VTime, seen: &Seen, acts: &mut Vec<Act>) {
        if self.timeout == Span::ZERO {
            return;
        }
        let due = now + self.timeout;
        match seen {
            Seen::Inside(InsideSeen::StreamOpen { session }) => {
                let stream = self.watch(session, due);
                (stream.open, stream.due) = (true, due);
            }
            Seen::Inside(InsideSeen::StreamMoved { session, .. }) => {
                self.streams.iter_mut().filter(|s| s.session == *session).for_each(|s| s.due = due);
            }
            Seen::Inside(InsideSeen::StreamClosed { session }) => {
                self.streams.iter_mut().filter(|s| s.session == *session).for_each(|s| s.open = false);
            }
            Seen::Inside(InsideSeen::Pending(ask)) => self.watch(&ask.session, due).asks.push(ask.id.clone()),
            Seen::Inside(InsideSeen::Ended { id }) => {
                self.streams.iter_mut().for_each(|s| s.asks.retain(|ask| ask != id))
            }
            Seen::Tick => {
                let (fired, kept) = std::mem::take(&mut self.streams).into_iter().partition(|s| now >= s.due);
                self.streams = kept;
                let fired: Vec<Watched> = fired;
                fired.into_iter().for_each(|stream| self.fire(stream.session, acts));
            }
            _ => {}
        }
        self.streams.retain(|stream| stream.open || !stream.asks.is_empty());
    }

    fn deadline(&self) -> Option<VTime> {
        self.streams.iter().map(|stream| stream.due).min()
    }

    /// It bounds silences of streams, not runs: a run can still wait for its stdin or for a process.
    fn bound(&self, _: &Facts) -> Option<Span> {
        None
    }

    fn canon(&self, canon: &mut Canon) {
        let Self {
            timeout: _, // not compared: it never changes after construction
            streams,
        } = self;
        canon.list(streams, |canon, Watched { session, open, asks, due }| {
            canon.text(session).flag(*open).deadline(Some(*due));
            texts(canon, asks);
        });
    }
}

#[cfg(test)]
mod tests;
