//! The clock of a model's stream: silence aborts it, unless a person is being asked in that very session.
//!
//! Invariant: a session has at most one timer, and an event or a new stream replaces it whole; so no timer of
//! a stream that is gone ever fires. A child's question does not pause its parent's clock (5.7, by reading).

use super::REASONING;
use crate::canon::option;
use crate::{Act, InsideAct, InsideSeen, Seen};
use rehang_words::{Canon, Policy, Span, VTime};
use std::collections::BTreeMap;

/// SILENT_STREAM_TIMEOUT_MS (2837fabbb).
pub const SILENT: Span = Span::secs(600);
/// CONNECT_STREAM_TIMEOUT_MS (54c7661d2).
pub const CONNECT: Span = Span::secs(30);
/// The same for a model that reasons (461b025e2).
pub const CONNECT_REASONING: Span = Span::secs(120);

/// The clocks of all sessions' streams.
#[derive(Debug)]
pub(super) struct StreamClock {
    silent: Span,
    /// The time until the first progress; `None` if the version has no such limit.
    connect: Option<Span>,
    /// Whether the model reasons, and so has another limit.
    reasons: bool,
    timers: BTreeMap<String, Timer>,
}

#[derive(Debug, Clone, Copy)]
struct Timer {
    due: VTime,
    /// Whether there is no progress yet, and a connect limit that counts.
    connecting: bool,
}

impl StreamClock {
    /// Clocks with these limits; a connect limit of 0 means none.
    pub(super) fn new(silent: Span, connect: Span) -> StreamClock {
        let connect = (connect > Span::ZERO).then_some(connect);
        StreamClock { silent, connect, reasons: false, timers: BTreeMap::new() }
    }

    /// Processes what is seen of the streams; at a tick, `is_asked` says whether a person is asked in a session.
    pub(super) fn on(&mut self, now: VTime, seen: &Seen, is_asked: impl Fn(&str) -> bool, acts: &mut Vec<Act>) {
        match seen {
            Seen::Inside(InsideSeen::Boot { env, .. }) => {
                let reasons = env.iter().any(|(name, value)| name == REASONING && value == "1");
                if reasons && self.connect.is_some() {
                    self.connect = Some(CONNECT_REASONING);
                    self.reasons = true;
                }
            }
            Seen::Inside(InsideSeen::StreamOpen { session }) => {
                let due = now + self.connect.unwrap_or(self.silent);
                self.timers.insert(session.clone(), Timer { due, connecting: self.connect.is_some() });
            }
            Seen::Inside(InsideSeen::StreamMoved { session, progress }) => {
                if let Some(timer) = self.timers.get_mut(session)
                    && (*progress || !timer.connecting)
                {
                    *timer = Timer { due: now + self.silent, connecting: false };
                }
            }
            Seen::Inside(InsideSeen::StreamClosed { session }) => drop(self.timers.remove(session)),
            Seen::Tick => self.fire(now, is_asked, acts),
            _ => {}
        }
    }

    /// When the next clock fires.
    pub(super) fn deadline(&self) -> Option<VTime> {
        self.timers.values().map(|timer| timer.due).min()
    }

    pub(super) fn canon(&self, canon: &mut Canon) {
        let Self {
            silent: _, // not compared: it never changes after construction
            connect,
            reasons,
            timers,
        } = self;
        option(canon, *connect, |canon, connect| {
            canon.num(connect.as_ms());
        });
        canon.flag(*reasons).num(timers.len() as u64);
        for (session, Timer { due, connecting }) in timers {
            canon.text(session).deadline(Some(*due)).flag(*connecting);
        }
    }

    fn fire(&mut self, now: VTime, is_asked: impl Fn(&str) -> bool, acts: &mut Vec<Act>) {
        let (silent, connect, reasons) = (self.silent, self.connect.unwrap_or(self.silent), self.reasons);
        self.timers.retain(|session, timer| {
            if now < timer.due {
                return true;
            }
            let limit = if timer.connecting { connect } else { silent };
            if is_asked(session) {
                timer.due = now + limit;
                acts.push(Act::Inside(InsideAct::Note("re-arm")));
                return true;
            }
            acts.extend(aborts(session, timer.connecting, reasons, limit));
            false
        });
    }
}

/// Silence drains the stream as a success; a connect timeout fails the turn.
fn aborts(session: &str, connecting: bool, reasons: bool, limit: Span) -> [Act; 2] {
    let ms = limit.as_ms();
    let (detected, cause, constant, text) = match connecting {
        true => (
            "no-progress",
            "connect-timeout",
            if reasons { "connect_reasoning_ms" } else { "connect_ms" },
            format!("LLM stream connection timed out after {ms}ms without provider progress"),
        ),
        false => ("silence", "stream-silence", "silent_ms", format!("LLM stream was silent for {ms}ms")),
    };
    let policy = Policy {
        detected: Some(detected.to_owned()),
        cause: Some(cause.to_owned()),
        text: Some(text.clone()),
        constants: [(constant.to_owned(), ms)].into(),
        ..Policy::default()
    };
    let session = session.to_owned();
    [Act::Report(policy), Act::Inside(InsideAct::AbortStream { session, fail: connecting, text, reject_asks: true })]
}
