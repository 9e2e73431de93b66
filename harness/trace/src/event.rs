//! The ordered record of one cell.
//!
//! Invariant: no real pid, port, path or time is in a trace. Processes are named by role, ports by the
//! role that listens, instants are virtual. So the same cell has the same bytes on every stage, machine and load.

use crate::json::Json;
use rehang_scenario::{Policy, VTime, turns::Question};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use smol_str::SmolStr;
use std::fmt;

/// A name in a trace: most are so short that they take no memory of their own.
pub type Name = SmolStr;

/// The ordered record of one cell.
#[derive(Debug, Clone, PartialEq, Hash, Default, Serialize, Deserialize)]
pub struct Trace {
    /// The events, in the order in which they happened.
    pub events: Vec<Event>,
}

/// One event of a trace.
#[derive(Debug, Clone, PartialEq, Hash, Serialize, Deserialize)]
pub struct Event {
    /// When it happened, in virtual time.
    pub t: VTime,
    /// Who did it or to whom it happened: a process's role (`agent`, `agent.1`), `wrapper`, `client`,
    /// `model`, `person1`, or a strategy's name.
    pub who: Name,
    /// What happened.
    pub what: What,
}

/// The content of an event.
#[derive(Debug, Clone, PartialEq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum What {
    // --- seen by the scheduler on its own descriptors ---
    /// A process was started.
    Spawn {
        /// The parent's role; empty for the agent.
        parent: String,
        /// The program name and arguments.
        argv: Vec<String>,
    },
    /// A process exited with this code.
    Exit(u8),
    /// A process was ended by this signal.
    Killed(String),
    /// A process was stopped by this signal.
    Stopped(String),
    /// A stopped process was continued.
    Continued,
    /// A process lost its parent and was adopted by the subreaper.
    Adopted,
    /// A process or an actor sent a signal; `who` sent it.
    Signal {
        /// The signal's name, without `SIG`.
        sig: String,
        /// The role it was sent to; a group is named by its leader's role and a star (`agent.1*`).
        to: String,
    },
    /// Bytes came out of the agent's stdout (`1`), stderr (`2`) or terminal (`0`).
    Out {
        /// Which stream: `0`, `1` or `2`.
        fd: u8,
        /// The text; invalid UTF-8 is replaced.
        text: String,
    },
    /// The agent's stdout, stderr or terminal ended.
    OutEnd {
        /// Which stream: `0`, `1` or `2`.
        fd: u8,
    },
    /// `who` wrote to the agent's stdin or terminal.
    In {
        /// The text that was written.
        text: String,
    },
    /// `who` closed the agent's stdin, or hung up its terminal.
    InEnd,
    /// `who` sent a request to the agent's server.
    Request {
        /// Its number within the cell, from 1.
        id: u32,
        /// The method: `GET`, `POST`, …
        method: Name,
        /// The path with its query.
        path: String,
        /// The JSON body; null if there is none.
        body: Json,
    },
    /// The server's response to request `id` was read by `who`.
    Response {
        /// The request's number within the cell.
        id: u32,
        /// The HTTP status.
        status: u16,
        /// The JSON body; a string if it is not JSON.
        body: Json,
    },
    /// The connection of request `id` ended without a (whole) response.
    RequestFailed {
        /// The request's number within the cell.
        id: u32,
        /// `closed`, `reset`, `refused`, `timeout` or `cancelled`.
        why: String,
    },
    /// An event arrived on `who`'s event stream.
    Sse(Json),
    /// `who`'s event stream ended.
    SseEnd,

    // --- said by a process ---
    /// A fact, as the process itself states it.
    Fact(Fact),

    // --- done by strategies and people ---
    /// A strategy looked at something: `children`, `worker`, `pid`.
    Looked {
        /// The thing that it looked at.
        at: String,
        /// What it saw; null if that is not available.
        saw: Value,
    },
    /// A strategy reports what it saw and did.
    Report(Box<Policy>),
    /// A strategy's monitor says something to its user.
    Says(String),
    /// A person acts: what they do, in the scenario's word.
    Acts(String),
    /// A fault of the scenario strikes: its kind and what it does.
    Fault(String),

    // --- the end ---
    /// `who` (the wrapper, the client, a strategy) says that the run is over.
    Settled {
        /// How the run ended.
        outcome: RunEnd,
        /// The cause of a stop, the reason of a failure.
        cause: String,
        /// The result's text, as `who` has it.
        text: String,
    },
    /// As `settled`, for a run that is not the caller's last: another run follows.
    RunOver {
        /// How the run ended.
        outcome: RunEnd,
        /// The cause of a stop, the reason of a failure.
        cause: String,
        /// The result's text, as `who` has it.
        text: String,
    },
    /// The scheduler ends the cell: nothing can happen any more, or a hang is proved.
    Ended(Ended),
    /// What was left when the cell was cleared away: a role, and what it is or holds (`process NAME`, `listener`, `pipe
    /// stdout`, …: the judge's invariant `left-behind` reads these texts). An open ask is left with its process, and is
    /// judged at the cell's end.
    Left {
        /// What is left, in the judge's words.
        what: String,
    },
}

/// How a run ended, as the one who settles it says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RunEnd {
    /// It did what it was asked to do.
    Completed,
    /// A wrapper, a strategy or a person ended it.
    Stopped,
    /// It failed by itself.
    Failed,
}

impl RunEnd {
    /// All of them, in this order.
    pub const ALL: [RunEnd; 3] = [RunEnd::Completed, RunEnd::Stopped, RunEnd::Failed];

    /// The word for it in a trace.
    pub fn word(self) -> &'static str {
        match self {
            RunEnd::Completed => "completed",
            RunEnd::Stopped => "stopped",
            RunEnd::Failed => "failed",
        }
    }
}

impl fmt::Display for RunEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// Why a cell ended.
#[derive(Debug, Clone, PartialEq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ended {
    /// The run was settled, and all that was in flight has been delivered.
    Settled,
    /// All blocked, nothing in flight, no timer left: role and what it waits for, in role order.
    Deadlock(Vec<(String, String)>),
    /// The whole state repeats: role and what it waits for; the length of the cycle in milliseconds.
    Lasso {
        /// Role and what it waits for, in role order.
        waits: Vec<(String, String)>,
        /// The cycle's length, in milliseconds.
        cycle_ms: u64,
    },
    /// The cell was given up without a proof.
    Horizon {
        /// What ran out.
        reason: Horizon,
        /// Role and what it waits for, in role order.
        waits: Vec<(String, String)>,
    },
}

/// What ran out before a cell ended or its hang was proved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Horizon {
    /// Virtual time: the horizon was reached.
    Time,
    /// Steps, most of them at one instant.
    Steps,
    /// Room for text: 128 MiB.
    Text,
    /// The real time that a wrapper of the user's own was given.
    Deadline,
}

impl Horizon {
    /// The reason in words for a person.
    pub fn why(self) -> &'static str {
        match self {
            Horizon::Time => "virtual time ran out",
            Horizon::Steps => "it takes steps without end and no time passes",
            Horizon::Text => "what it says fills more than 128 MiB",
            Horizon::Deadline => "the wrapper was still there at the deadline",
        }
    }
}

impl What {
    /// How many bytes of text it holds: what a scenario can make large.
    pub fn text_bytes(&self) -> usize {
        match self {
            What::Out { text, .. } | What::In { text } | What::Says(text) | What::Settled { text, .. } => text.len(),
            What::Request { path, body, .. } => path.len() + body.text().len(),
            What::Response { body, .. } | What::Sse(body) => body.text().len(),
            What::Spawn { argv, .. } => argv.iter().map(String::len).sum(),
            What::Fact(
                Fact::ModelSaid { text, .. }
                | Fact::ToolEnded { text, .. }
                | Fact::Preempted { text, .. }
                | Fact::Result { text, .. },
            ) => text.len(),
            _ => 0,
        }
    }
}

/// What a process states about itself.
#[derive(Debug, Clone, PartialEq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fact {
    /// A session began; `parent` is empty for a root session.
    Session {
        /// The session's id.
        id: String,
        /// Its parent's id.
        parent: String,
    },
    /// A session became busy or idle.
    Busy {
        /// The session's id.
        session: String,
        /// Whether it is busy now.
        busy: bool,
    },
    /// A request went to the model.
    ModelAsked {
        /// The id of the session.
        session: String,
        /// Which response it will be, from 1, over all sessions of the agent.
        response: u32,
    },
    /// Data came from the model: material progress.
    ModelSaid {
        /// The id of the session.
        session: String,
        /// The text that came; empty for a tool call.
        text: String,
    },
    /// The model's stream ended.
    ModelDone {
        /// The id of the session.
        session: String,
        /// The finish reason: `stop`, `tool-calls`, `unknown`, `none`, `error`, `aborted`.
        finish: String,
    },
    /// A tool call began to run.
    ToolBegan {
        /// The call's id.
        call: String,
        /// The tool: `bash`, `question`, …
        tool: String,
        /// The id of the session.
        session: String,
    },
    /// A tool call ended, and the model is told this.
    ToolEnded {
        /// The call's id.
        call: String,
        /// Whether it is an error.
        error: bool,
        /// What the model is told.
        text: String,
    },
    /// Something is asked of a person.
    Asked {
        /// The ask's id.
        id: String,
        /// Whether it is a question or a permission.
        kind: AskKind,
        /// The id of the session.
        session: String,
        /// The questions; none for a permission.
        questions: Vec<Question>,
        /// The permission and its patterns; empty for a question.
        permission: String,
    },
    /// An ask ended.
    AskEnded {
        /// The ask's id.
        id: String,
        /// How it ended.
        end: AskEnd,
        /// Why it ended.
        cause: Cause,
        /// Who ended it: `user` (by whatever way), a strategy's name, `agent`, `shutdown`.
        by: String,
        /// The answers, a list for each question; empty if it was not answered.
        answers: Vec<Vec<String>>,
    },
    /// A question that a strategy answered or refused before it became an ask.
    Preempted {
        /// The call's id.
        call: String,
        /// The name of the strategy.
        by: String,
        /// The questions of the call.
        questions: Vec<Question>,
        /// The answers; an empty list is "unanswered".
        answers: Vec<Vec<String>>,
        /// What the model is told.
        text: String,
        /// Whether a person could have answered: a client with a reply route, or a person at the terminal.
        live: bool,
    },
    /// The agent's own result.
    Result {
        /// Whether the agent says that it succeeded.
        ok: bool,
        /// The text of the result.
        text: String,
    },
    /// A strategy inside the agent reports.
    Policy {
        /// The name of the strategy.
        strategy: String,
        /// What the strategy says.
        policy: Box<Policy>,
    },
    /// A strategy inside the agent acts, in one word: `abort-stream`, `re-arm`, `reject`, `withhold`.
    Acted {
        /// The name of the strategy.
        strategy: String,
        /// The word for what it does.
        act: String,
    },
}

impl Fact {
    /// Whether it carries the task forward: a session begins, the model speaks or its step ends regularly, a tool
    /// begins or ends, an ask opens or ends, a result. A request to the model does not, nor does a step that failed or
    /// broke off: a retry has both.
    pub fn is_material(&self) -> bool {
        match self {
            Fact::ModelDone { finish, .. } => !matches!(finish.as_str(), "error" | "aborted" | "unknown" | "none"),
            Fact::Session { .. }
            | Fact::ModelSaid { .. }
            | Fact::ToolBegan { .. }
            | Fact::ToolEnded { .. }
            | Fact::Asked { .. }
            | Fact::AskEnded { .. }
            | Fact::Preempted { .. }
            | Fact::Result { .. } => true,
            Fact::Busy { .. } | Fact::ModelAsked { .. } | Fact::Policy { .. } | Fact::Acted { .. } => false,
        }
    }
}

/// The kind of an ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AskKind {
    /// A question that the model asks.
    Question,
    /// A permission for a tool.
    Permission,
}

/// How an ask ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AskEnd {
    /// Answered, or allowed.
    Replied,
    /// An empty answer was accepted as one.
    Skipped,
    /// Rejected, denied, dismissed, cancelled.
    Rejected,
    /// Removed without anything on the wire (real opencode's abort).
    Dropped,
}

/// Why an ask ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// A person or a strategy answered.
    Answer,
    /// It was dismissed or denied.
    Dismiss,
    /// The session was stopped, or interrupted.
    Stop,
    /// The agent shut down.
    Shutdown,
    /// The reply did not fit.
    Malformed,
    /// An explicit policy.
    Policy,
    /// The silence of a model's stream, or a clock.
    Silence,
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use serde_json::json;

    #[test]
    fn an_end_has_one_word_wherever_it_is_written() {
        for end in RunEnd::ALL {
            assert_eq!(serde_json::to_value(end).unwrap(), json!(end.word()));
            assert_eq!(end.to_string(), end.word());
        }
    }

    #[test]
    fn a_person_is_told_what_ran_out() {
        let said = [Horizon::Time, Horizon::Steps, Horizon::Text, Horizon::Deadline].map(Horizon::why).join("\n");
        expect![[r#"
            virtual time ran out
            it takes steps without end and no time passes
            what it says fills more than 128 MiB
            the wrapper was still there at the deadline"#]]
        .assert_eq(&said);
    }

    /// A cell is given up by this sum, so each text that a scenario can make large is in it.
    #[test]
    fn each_text_that_a_scenario_can_make_large_is_counted() {
        let long = || "x".repeat(1000);
        let body = || Json::from(json!(long()));
        let (session, call, by) = (String::new, String::new, String::new);
        let settled = What::Settled { outcome: RunEnd::Completed, cause: String::new(), text: long() };
        let preempted =
            Fact::Preempted { call: call(), by: by(), questions: vec![], answers: vec![], text: long(), live: false };
        let large = [
            What::Out { fd: 1, text: long() },
            What::In { text: long() },
            What::Says(long()),
            settled,
            What::Request { id: 1, method: "GET".into(), path: format!("/{}", long()), body: Json::from(Value::Null) },
            What::Request { id: 1, method: "POST".into(), path: "/".into(), body: body() },
            What::Response { id: 1, status: 200, body: body() },
            What::Sse(body()),
            What::Spawn { parent: String::new(), argv: vec!["fake".into(), long()] },
            What::Fact(Fact::ModelSaid { session: session(), text: long() }),
            What::Fact(Fact::ToolEnded { call: call(), error: false, text: long() }),
            What::Fact(preempted),
            What::Fact(Fact::Result { ok: true, text: long() }),
        ];
        // quotes of a JSON string, the path's slash and a body `null`, a slash and quotes, a name
        assert_eq!(
            large.map(|what| what.text_bytes()),
            [1000, 1000, 1000, 1000, 1005, 1003, 1002, 1002, 1004, 1000, 1000, 1000, 1000]
        );
        assert_eq!(What::Continued.text_bytes(), 0);
    }

    /// An event that is not progress may repeat for ever: it does not restart a hang's clock.
    #[test]
    fn what_a_retry_repeats_is_no_progress() {
        let done = |finish: &str| Fact::ModelDone { session: "ses_1".into(), finish: finish.into() }.is_material();
        assert_eq!(["stop", "tool-calls"].map(done), [true; 2]);
        assert_eq!(["error", "aborted", "unknown", "none"].map(done), [false; 4]);
        let session = || "ses_1".to_owned();
        assert!(!Fact::ModelAsked { session: session(), response: 1 }.is_material());
        assert!(!Fact::Busy { session: session(), busy: true }.is_material());
        assert!(!Fact::Acted { strategy: "guard".into(), act: "re-arm".into() }.is_material());
        assert!(Fact::ModelSaid { session: session(), text: String::new() }.is_material());
        let question = Question {
            question: "Which?".into(),
            header: String::new(),
            options: vec![],
            multiple: false,
            custom: None,
        };
        let asked = Fact::Asked {
            id: "que_1".into(),
            kind: AskKind::Question,
            session: session(),
            questions: vec![question],
            permission: String::new(),
        };
        assert!(asked.is_material());
    }
}
