//! What goes wrong in a scenario, and where.
//!
//! Invariant: what other crates ask of every fault is answered here, so that a new kind of fault needs only this file,
//! the line that draws it at random, and the code where it acts.

use crate::time::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One thing that goes wrong.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Fault {
    /// An event on the server's `/event` stream is lost, late, doubled, out of order, or the stream is cut.
    Event(EventFault),
    /// The model's stream stalls, ends early, is reset, only keeps alive, or answers with an error.
    Model(ModelFault),
    /// The prompt's POST never closes, is cut, or is refused.
    Post(PostFault),
    /// Any other request of a client fails.
    Get(GetFault),
    /// A process crashes, freezes or thaws.
    Process(ProcessFault),
    /// A tool's end is lost: its process is over, its state is not.
    Tool(ToolFault),
    /// The server's queue refuses further prompts.
    Queue(QueueFault),
    /// `pgrep` is not available: the child count is unknown.
    Pgrep(PgrepFault),
    /// The wrapper does not read one of the agent's streams.
    Wrapper(WrapperFault),
    /// The companion's job worker.
    Worker(WorkerFault),
}

/// Where a fault acts: what must exist for the fault to strike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Between an agent's server and its clients.
    Wire,
    /// Between an agent and its model.
    Model,
    /// Inside an agent.
    Agent,
    /// Any process, from outside.
    Process,
    /// The companion of opencode, and what it asks the machine.
    Companion,
    /// The process that started the agent.
    Wrapper,
}

impl Fault {
    /// Where it acts.
    pub fn place(&self) -> Place {
        match self {
            Fault::Event(_) | Fault::Post(_) | Fault::Get(_) => Place::Wire,
            Fault::Model(_) => Place::Model,
            Fault::Tool(_) | Fault::Queue(_) => Place::Agent,
            Fault::Process(_) => Place::Process,
            Fault::Pgrep(_) | Fault::Worker(_) => Place::Companion,
            Fault::Wrapper(_) => Place::Wrapper,
        }
    }

    /// Whether only an agent with a server can meet it.
    pub fn needs_server(&self) -> bool {
        self.place() == Place::Wire || matches!(self, Fault::Queue(_) | Fault::Worker(_))
    }

    /// Whether only an agent with a model can meet it.
    pub fn needs_model(&self) -> bool {
        matches!(self, Fault::Model(_) | Fault::Tool(_))
    }

    /// The ordinal of the event at which it acts, or how many it strikes; `None` for a fault that counts nothing.
    pub fn count_mut(&mut self) -> Option<&mut u32> {
        match self {
            Fault::Event(fault) => Some(&mut fault.nth),
            Fault::Model(fault) => Some(&mut fault.response),
            Fault::Post(fault) => Some(&mut fault.nth),
            Fault::Get(fault) => Some(&mut fault.times),
            Fault::Tool(fault) => Some(&mut fault.nth),
            Fault::Process(_) | Fault::Queue(_) | Fault::Pgrep(_) | Fault::Wrapper(_) | Fault::Worker(_) => None,
        }
    }

    /// When it acts, from the cell's begin; `None` if something else says when.
    pub fn instant_mut(&mut self) -> Option<&mut Span> {
        match self {
            Fault::Process(fault) => Some(&mut fault.at),
            Fault::Worker(WorkerFault::Dies(at) | WorkerFault::PidTaken(at)) => Some(at),
            Fault::Wrapper(WrapperFault::Vanishes(at)) => Some(at),
            _ => None,
        }
    }
}

/// A fault on the event stream.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct EventFault {
    /// The event's type, such as `question.asked`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Which of them, from 1; 0 means every one.
    #[serde(default = "one")]
    pub nth: u32,
    /// What becomes of it.
    pub does: EventDoes,
}

/// What becomes of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EventDoes {
    /// It never arrives.
    Drop,
    /// It arrives twice.
    Duplicate,
    /// It arrives after the event that follows it.
    Reorder,
    /// It arrives late.
    Delay(Span),
    /// The stream is closed before it; clients reconnect after this span, and nothing is sent again, except by PawWork
    /// if it has a ledger or its successor.
    Cut(Span),
    /// From it on the stream is open and silent.
    Mute,
}

/// A fault of the model's stream.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ModelFault {
    /// Which model response, from 1, over all sessions; 0 means every one.
    #[serde(default = "one")]
    pub response: u32,
    /// After how many chunks of the response it happens.
    #[serde(default)]
    pub after: u32,
    /// What happens.
    pub does: ModelDoes,
    /// With a status: how long the server says to wait before another try (`Retry-After`, in whole seconds, rounded
    /// up). Only a server can say it: a persona that plays its model in-process does not hear it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<Span>,
}

/// What a model's stream does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ModelDoes {
    /// Open and silent, for ever.
    Stall,
    /// Silent for this span, then goes on.
    Pause(Span),
    /// Only keep-alive comments, one every so often, for ever.
    KeepAlive(Span),
    /// The stream ends early, in good order, without a finish reason.
    Truncate,
    /// The stream ends without a finish reason after the whole text has arrived.
    NoFinish,
    /// The connection is reset.
    Reset,
    /// The request is answered with this HTTP status instead of a stream.
    Status(#[schemars(range(min = 100, max = 599))] u16),
    /// Every chunk takes this long.
    Slow(Span),
    /// The model says this response of the agent's own session again to each later request, for ever. `response` counts the
    /// responses of the file's `turns` here.
    Repeats,
}

/// A fault of the prompt's POST.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct PostFault {
    /// Which prompt, from 1.
    #[serde(default = "one")]
    pub nth: u32,
    /// What happens.
    pub does: PostDoes,
}

/// What becomes of a POST.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PostDoes {
    /// The turn ends; the response never comes.
    NeverCloses,
    /// The connection is closed after this span, the turn goes on.
    Cut(Span),
    /// The prompt is refused at once with this status.
    Status(#[schemars(range(min = 100, max = 599))] u16),
    /// The prompt is accepted, and no turn begins.
    Ignored,
}

/// A fault of another request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct GetFault {
    /// The path, such as `/question`; `*` at its end means any rest.
    pub path: String,
    /// How many of them fail, from the first; 0 means every one.
    #[serde(default)]
    pub times: u32,
    /// The status that they get; 0 means the connection is closed without one.
    #[schemars(range(max = 599))]
    pub status: u16,
}

impl GetFault {
    /// Whether a request for this path is one of those that it means.
    pub fn fits(&self, path: &str) -> bool {
        self.path.strip_suffix('*').map_or(path == self.path, |begin| path.starts_with(begin))
    }
}

/// A fault of a process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ProcessFault {
    /// Its role: `agent`, `agent.1`, …
    #[serde(default = "agent_role")]
    pub role: String,
    /// When, from the cell's begin.
    pub at: Span,
    /// What happens.
    pub does: ProcessDoes,
}

/// What happens to a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ProcessDoes {
    /// SIGKILL.
    Crash,
    /// SIGSTOP.
    Freeze,
    /// SIGCONT.
    Thaw,
    /// Crash, and a new server at the same address that knows the stored sessions.
    Restart,
    /// A server's event loop is stuck: it lives and listens, and takes, answers and says nothing more.
    Mute,
    /// Claude Code's output stops: its session goes on, and nothing that it would print arrives on its stdout.
    MuteOutput,
}

/// A fault of a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ToolFault {
    /// Which tool call, from 1.
    #[serde(default = "one")]
    pub nth: u32,
    /// What happens.
    pub does: ToolDoes,
}

/// What becomes of a tool's end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ToolDoes {
    /// The command has ended, but its state stays `running`.
    NeverFlips,
    /// The state changes, but the loop never reads the result.
    LosesResult,
    /// The step ends with `tool-calls`, and the loop takes this long before the next message exists (opencode: it reads
    /// the whole history first). The session is busy all the while.
    Lags(Span),
}

/// A fault of the server's queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum QueueFault {
    /// 503 for each prompt.
    Refuses,
    /// Prompts wait until the one that runs has ended.
    Holds,
}

/// A fault of the child count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PgrepFault {
    /// No `pgrep` on this machine.
    Unavailable,
    /// No `lsof`: the server's pid cannot be found.
    NoPid,
}

/// A fault of the wrapper.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WrapperFault {
    /// stderr is piped and never read.
    IgnoresStderr,
    /// stdout is piped and never read.
    IgnoresStdout,
    /// It goes away: its ends of all pipes close, and it does not come back.
    Vanishes(Span),
}

/// A fault of the companion's job worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WorkerFault {
    /// It dies at this instant; the server goes on.
    Dies(Span),
    /// It dies at this instant, and another process gets its pid at once: a check by pid finds it alive.
    PidTaken(Span),
    /// It dies before it takes the job: the job stays queued.
    NeverStarts,
}

fn one() -> u32 {
    1
}

fn agent_role() -> String {
    "agent".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{from_value, json};

    #[test]
    fn each_fault_has_its_place_its_count_and_its_instant() {
        // the fault; where it acts; whether it needs a server, a model; its count; its instant in seconds
        let rows = [
            (
                json!({ "event": { "type": "x", "nth": 3, "does": { "delay": "9s" } } }),
                Place::Wire,
                true,
                false,
                Some(3),
                None,
            ),
            (
                json!({ "model": { "response": 4, "does": { "pause": "9s" } } }),
                Place::Model,
                false,
                true,
                Some(4),
                None,
            ),
            (json!({ "post": { "nth": 5, "does": { "cut": "9s" } } }), Place::Wire, true, false, Some(5), None),
            (json!({ "get": { "path": "/x", "times": 6, "status": 0 } }), Place::Wire, true, false, Some(6), None),
            (json!({ "process": { "at": "7s", "does": "crash" } }), Place::Process, false, false, None, Some(7)),
            (json!({ "tool": { "nth": 8, "does": { "lags": "9s" } } }), Place::Agent, false, true, Some(8), None),
            (json!({ "queue": "holds" }), Place::Agent, true, false, None, None),
            (json!({ "pgrep": "no-pid" }), Place::Companion, false, false, None, None),
            (json!({ "wrapper": "ignores-stderr" }), Place::Wrapper, false, false, None, None),
            (json!({ "wrapper": { "vanishes": "2s" } }), Place::Wrapper, false, false, None, Some(2)),
            (json!({ "worker": "never-starts" }), Place::Companion, true, false, None, None),
            (json!({ "worker": { "dies": "3s" } }), Place::Companion, true, false, None, Some(3)),
            (json!({ "worker": { "pid-taken": "4s" } }), Place::Companion, true, false, None, Some(4)),
        ];
        for (fault, place, server, model, count, instant) in rows {
            let mut fault: Fault = from_value(fault).unwrap();
            assert_eq!((fault.place(), fault.needs_server(), fault.needs_model()), (place, server, model), "{fault:?}");
            assert_eq!(fault.count_mut().copied(), count, "{fault:?}");
            assert_eq!(fault.instant_mut().copied(), instant.map(Span::secs), "{fault:?}");
            // what is changed there is changed in the fault
            if let Some(count) = fault.count_mut() {
                *count += 1;
            }
            if let Some(at) = fault.instant_mut() {
                *at = Span::secs(60);
            }
            assert_eq!(fault.count_mut().copied(), count.map(|count| count + 1), "{fault:?}");
            assert_eq!(fault.instant_mut().copied(), instant.map(|_| Span::secs(60)), "{fault:?}");
        }
    }

    #[test]
    fn a_fault_that_names_no_count_is_the_first_of_the_agent() {
        let of = |fault| from_value::<Fault>(fault).unwrap();
        let firsts = [
            json!({ "event": { "type": "x", "does": "drop" } }),
            json!({ "model": { "does": "stall" } }),
            json!({ "post": { "does": "ignored" } }),
            json!({ "tool": { "does": "never-flips" } }),
        ];
        assert!(firsts.into_iter().all(|fault| of(fault).count_mut() == Some(&mut 1)));
        assert_eq!(of(json!({ "get": { "path": "/x", "status": 0 } })).count_mut(), Some(&mut 0), "every one");
        let Fault::Process(process) = of(json!({ "process": { "at": "1s", "does": "freeze" } })) else { panic!() };
        assert_eq!(process.role, "agent");
    }
}
