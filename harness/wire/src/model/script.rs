//! What comes over a model's stream, and when: a scenario's response, with the faults that are applied to it.
//!
//! Used by a persona that plays its model in-process and by the stage's model server alike, so a fault means the
//! same in both. Invariant: nothing here depends on when it is polled; a stream's instants follow from its start.
//!
//! A chunk is one `say`, one tool call or the finish; silence and compaction are not chunks. `after = k` applies when k
//! chunks are out, before any silence that follows them.

use super::{Finish, ModelEvent, ToolCall};
use rehang_scenario::turns::{Response, Turn};
use rehang_scenario::{Canon, Canonical, Fault, ModelDoes, ModelFault, Span, VTime};
use std::collections::VecDeque;

/// How often a model that thinks sends a sign of life. The servers of models that think for long do so, each at its own
/// interval, and every client that was measured waits that long (the shortest limit is 240 s); a model that says
/// nothing is a fault, `pause` or `stall`. The value is a choice: often enough for all of them, rarely enough to be
/// cheap, and no divisor of any client's limit.
pub const THINKS_ALOUD: Span = Span::secs(97);

/// A piece of a response before any fault.
#[derive(Debug, Clone, PartialEq)]
pub enum Chunk {
    /// The model says this.
    Event(ModelEvent),
    /// Only signs of life for this long, one each [`THINKS_ALOUD`]: a `think`.
    Pause(Span),
    /// The agent compacts its context, which takes this long. The model does not do it, but it has its place in the
    /// order.
    Compact(Span),
}

/// What a stream does at an instant.
#[derive(Debug, Clone, PartialEq)]
pub enum Item {
    /// It says this event; never [`ModelEvent::KeepAlive`].
    Event(ModelEvent),
    /// A sign of life without content.
    KeepAlive,
    /// The agent compacts now, for this long; the stream is silent meanwhile.
    Compacting(Span),
    /// The stream is over. Either it ended as its API ends a stream (`[DONE]`, `message_stop`), with or without a
    /// finish reason before, or the body just ends, correctly for HTTP.
    Ended {
        /// Whether it ended with the API's own terminator.
        clean: bool,
    },
    /// The connection is reset.
    Reset,
    /// Instead of a stream, this HTTP status.
    Status(u16),
}

/// Cuts a response into chunks. `say` makes the final text (it knows what `{answer}` is replaced by); `call` names the
/// tool call that a turn is in the agent's dialect, or none.
pub fn chunks(
    response: &Response,
    mut say: impl FnMut(&str) -> String,
    mut call: impl FnMut(&Turn) -> Option<ToolCall>,
) -> Vec<Chunk> {
    let mut all = Vec::with_capacity(response.parts.len() + 1);
    for part in &response.parts {
        match part {
            Turn::Say(text) => all.push(Chunk::Event(ModelEvent::TextDelta(say(text)))),
            Turn::Think(span) => all.push(Chunk::Pause(*span)),
            Turn::Compact(span) => all.push(Chunk::Compact(*span)),
            Turn::Ask(_) | Turn::Permit(_) | Turn::Bash(_) | Turn::Task(_) => {
                all.extend(call(part).map(ModelEvent::ToolCall).map(Chunk::Event));
            }
            // Neither is a part of a response: `turns::responses` removes them.
            Turn::Together(_) | Turn::Finish(_) => {}
        }
    }
    if response.finish != Finish::None {
        all.push(Chunk::Event(ModelEvent::Finish(response.finish)));
    }
    all
}

/// The response of the agent's own session, from 0, that its model repeats for ever, if it does: the persona stays at
/// it.
pub fn repeats(faults: &[Fault]) -> Option<usize> {
    faults.iter().find_map(|fault| match fault {
        Fault::Model(fault) if fault.does == ModelDoes::Repeats => usize::try_from(fault.response).ok()?.checked_sub(1),
        _ => None,
    })
}

/// Assigns the model's faults to its responses, which are numbered from 1 as they begin, over all sessions.
#[derive(Debug, Clone)]
pub struct ModelScript {
    faults: Vec<ModelFault>,
    begun: u32,
}

impl ModelScript {
    /// A script with the model's faults among these.
    pub fn new(faults: &[Fault]) -> ModelScript {
        let model = |fault: &Fault| match fault {
            Fault::Model(fault) => Some(fault.clone()),
            _ => None,
        };
        ModelScript { faults: faults.iter().filter_map(model).collect(), begun: 0 }
    }

    /// How many responses have begun. A request that got a status instead of a stream counts too.
    pub fn begun(&self) -> u32 {
        self.begun
    }

    /// Begins the next response, at this time.
    pub fn begin(&mut self, chunks: Vec<Chunk>, start: VTime) -> Stream {
        self.begun = self.begun.saturating_add(1);
        let faults: Vec<ModelFault> =
            self.faults.iter().filter(|f| f.response == 0 || f.response == self.begun).cloned().collect();
        Stream::new(chunks, &faults, start)
    }
}

impl Canonical for ModelScript {
    fn canon(&self, canon: &mut Canon) {
        let Self {
            faults, // not compared: they never change; what has been counted towards them is
            begun,
        } = self;
        let largest = faults.iter().map(|f| f.response).max().unwrap_or(0);
        canon.capped((*begun).into(), largest.into());
    }
}

/// One response, as it comes over the wire.
#[derive(Debug, Clone)]
pub struct Stream {
    /// What is still to come.
    rest: VecDeque<Chunk>,
    /// How many chunks are out.
    out: u32,
    /// The faults that have not been applied.
    faults: Vec<(u32, ModelDoes)>,
    /// How long each chunk takes, once this many are out.
    slow: Option<(u32, Span)>,
    /// Whether the next chunk's delay has passed.
    slept: bool,
    state: State,
    retry_after: Option<Span>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// The request was sent, nothing has come.
    Asked(VTime),
    /// The next thing comes at this instant.
    Flows(VTime),
    /// A sign of life comes at this instant and at this interval after it.
    KeepsAlive(VTime, Span),
    /// It thinks until the second instant; the next sign of life comes at the first, if that is before.
    Thinks(VTime, VTime),
    /// The stream is open, and silent for ever.
    Stalled,
    Over,
}

impl Stream {
    /// A response that begins at `start`, and the faults of this response.
    pub fn new(chunks: Vec<Chunk>, faults: &[ModelFault], start: VTime) -> Stream {
        let slow = faults.iter().find_map(|f| match f.does {
            ModelDoes::Slow(span) => Some((f.after, span)),
            _ => None,
        });
        let mut rest = VecDeque::from(chunks);
        if faults.iter().any(|f| f.does == ModelDoes::NoFinish) {
            rest.retain(|chunk| !matches!(chunk, Chunk::Event(ModelEvent::Finish(_))));
        }
        let retry_after = faults.iter().find_map(|f| f.retry_after);
        let strike = |f: &&ModelFault| !matches!(f.does, ModelDoes::Slow(_) | ModelDoes::NoFinish | ModelDoes::Repeats);
        let faults = faults.iter().filter(strike).map(|f| (f.after, f.does)).collect();
        Stream { rest, out: 0, faults, slow, slept: false, state: State::Asked(start), retry_after }
    }

    /// Everything that has come by now, in order.
    pub fn poll(&mut self, now: VTime) -> Vec<Item> {
        let mut items = Vec::new();
        while self.deadline().is_some_and(|at| at <= now) {
            match self.state {
                State::Asked(at) => self.begin(at, &mut items),
                State::Flows(at) => self.flow(at, &mut items),
                State::KeepsAlive(at, every) => {
                    items.push(Item::KeepAlive);
                    // A reader that was frozen for hours finds one sign of life, not thousands; the phase is kept.
                    let every = every.as_ms().max(1);
                    let missed = now.since(at).as_ms() / every;
                    self.state = State::KeepsAlive(at + Span(every.saturating_mul(missed + 1)), Span(every));
                    break;
                }
                State::Thinks(at, until) if at < until => {
                    items.push(Item::KeepAlive);
                    let late = now.since(at).as_ms() / THINKS_ALOUD.as_ms();
                    let next = at + Span(THINKS_ALOUD.as_ms().saturating_mul(late + 1));
                    self.state = State::Thinks(next, until);
                }
                State::Thinks(_, until) => self.state = State::Flows(until),
                State::Stalled | State::Over => break,
            }
        }
        items
    }

    /// When the next item comes; `None` if the stream is over, or stalls for ever.
    pub fn deadline(&self) -> Option<VTime> {
        match self.state {
            State::Asked(at) | State::Flows(at) | State::KeepsAlive(at, _) => Some(at),
            State::Thinks(at, until) => Some(at.min(until)),
            State::Stalled | State::Over => None,
        }
    }

    /// Whether nothing comes any more because it has ended.
    pub fn is_over(&self) -> bool {
        self.state == State::Over
    }

    /// With [`Item::Status`]: how long its server says to wait before another try.
    pub fn retry_after(&self) -> Option<Span> {
        self.retry_after
    }

    fn begin(&mut self, at: VTime, items: &mut Vec<Item>) {
        let status = self.faults.iter().find_map(|(_, does)| match does {
            ModelDoes::Status(status) => Some(*status),
            _ => None,
        });
        self.state = match status {
            Some(status) => {
                items.push(Item::Status(status));
                State::Over
            }
            None => {
                items.push(Item::Event(ModelEvent::Start));
                State::Flows(at)
            }
        };
    }

    fn flow(&mut self, at: VTime, items: &mut Vec<Item>) {
        if let Some(index) = self.faults.iter().position(|(after, _)| *after == self.out) {
            let (_, does) = self.faults.remove(index);
            self.state = match does {
                ModelDoes::Stall => State::Stalled,
                ModelDoes::Pause(span) => State::Flows(at + span),
                ModelDoes::KeepAlive(every) => State::KeepsAlive(at + Span(every.as_ms().max(1)), every),
                ModelDoes::Truncate => {
                    items.push(Item::Ended { clean: false });
                    State::Over
                }
                ModelDoes::Reset => {
                    items.push(Item::Reset);
                    State::Over
                }
                ModelDoes::Status(_) | ModelDoes::Slow(_) | ModelDoes::NoFinish | ModelDoes::Repeats => {
                    State::Flows(at)
                }
            };
            return;
        }
        if let (Some((after, span)), Some(Chunk::Event(_))) = (self.slow, self.rest.front())
            && self.out >= after
            && !std::mem::replace(&mut self.slept, true)
        {
            self.state = State::Flows(at + span);
            return;
        }
        match self.rest.pop_front() {
            Some(Chunk::Event(event)) => {
                items.push(Item::Event(event));
                self.out += 1;
                self.slept = false;
            }
            Some(Chunk::Pause(span)) => self.state = State::Thinks(at + THINKS_ALOUD, at + span),
            Some(Chunk::Compact(span)) => {
                items.push(Item::Compacting(span));
                self.state = State::Flows(at + span);
            }
            None => {
                items.push(Item::Ended { clean: true });
                self.state = State::Over;
            }
        }
    }
}

impl Canonical for Stream {
    fn canon(&self, canon: &mut Canon) {
        let Self { rest, out, faults, slow, slept, state, retry_after } = self;
        canon.num(rest.len() as u64);
        for chunk in rest {
            match chunk {
                Chunk::Event(event) => {
                    canon.num(0);
                    event.canon(canon);
                }
                Chunk::Pause(span) => {
                    canon.num(1).num(span.as_ms());
                }
                Chunk::Compact(span) => {
                    canon.num(2).num(span.as_ms());
                }
            }
        }
        canon.list(faults, |canon, (after, does)| {
            let (kind, detail) = match does {
                ModelDoes::Stall => (0, 0),
                ModelDoes::Pause(span) => (1, span.as_ms()),
                ModelDoes::KeepAlive(every) => (2, every.as_ms()),
                ModelDoes::Truncate => (3, 0),
                ModelDoes::NoFinish => (4, 0),
                ModelDoes::Reset => (5, 0),
                ModelDoes::Status(status) => (6, u64::from(*status)),
                ModelDoes::Slow(span) => (7, span.as_ms()),
                ModelDoes::Repeats => (8, 0),
            };
            // Faults compare with what is still to come out, not with what has.
            canon.num(after.wrapping_sub(*out).into()).num(kind).num(detail);
        });
        match *slow {
            None => canon.num(0),
            Some((after, span)) => canon.num(1).num(after.saturating_sub(*out).into()).num(span.as_ms()),
        };
        canon.flag(*slept);
        match *state {
            State::Asked(at) => canon.num(0).deadline(Some(at)),
            State::Flows(at) => canon.num(1).deadline(Some(at)),
            State::KeepsAlive(at, every) => canon.num(2).deadline(Some(at)).num(every.as_ms()),
            State::Thinks(at, until) => canon.num(5).deadline(Some(at)).deadline(Some(until)),
            State::Stalled => canon.num(3),
            State::Over => canon.num(4),
        };
        canon.flag(retry_after.is_some()).num(retry_after.map_or(0, Span::as_ms));
    }
}
