//! Within the agent: at the tool boundary, in the ask layer, at the model's stream.

use rehang_words::Question;
use serde_json::Value;

/// What is seen from within the agent: at the tool boundary, in the ask layer, at the model's stream.
#[derive(Debug, Clone, PartialEq)]
pub enum InsideSeen {
    /// The agent begins.
    Boot {
        /// The agent's environment.
        env: Vec<(String, String)>,
        /// Whether stdin is a terminal.
        stdin_tty: bool,
        /// Whether the program is a one-shot run, which has no reply route of its own.
        run: bool,
        /// Whether somebody can reach it over HTTP: it listens.
        listens: bool,
    },
    /// The question tool was called, at the tool's entry: [`InsideAct::AnswerTool`] ends it here.
    ToolAsks(Ask),
    /// An ask is pending (ask layer): [`InsideAct::Reply`] or [`InsideAct::Reject`] ends it.
    Pending(Ask),
    /// An ask ended.
    Ended {
        /// The ask's id.
        id: String,
    },
    /// A request to the model was sent.
    StreamOpen {
        /// The id of the session.
        session: String,
    },
    /// The model's stream moved.
    StreamMoved {
        /// The id of the session.
        session: String,
        /// Whether the event counts as provider progress (text, reasoning, tool input), and not as a start or keep-alive.
        progress: bool,
    },
    /// The model's stream ended.
    StreamClosed {
        /// The id of the session.
        session: String,
    },
    /// An ask is gone from the pending map, and the wire does not know yet; [`InsideSeen::Ended`] follows as always.
    Closing {
        /// The ask's id.
        id: String,
        /// The session of the ask.
        session: String,
        /// `replied`, `cancelled`, `dismissed`, `shutdown` or `rejected`.
        reason: &'static str,
    },
    /// A person answered or dismissed an ask over HTTP: exactly one [`InsideAct::Verdict`] follows.
    Submitted {
        /// The ask's id.
        id: String,
        /// The session that the path names; empty if it names none.
        session: String,
        /// Whether it is a dismissal.
        dismiss: bool,
        /// The request's body; a string if it is not JSON.
        body: Value,
    },
}

/// What is done from within the agent.
#[derive(Debug, Clone, PartialEq)]
pub enum InsideAct {
    /// Ends a question at the tool's entry: the tool returns this text, and no ask is made.
    AnswerTool {
        /// The answers; an empty list is "unanswered".
        answers: Vec<Vec<String>>,
        /// What the model is told.
        text: String,
    },
    /// The tool is not offered to the model, or refused with this text.
    Withhold {
        /// What the model is told.
        text: String,
    },
    /// Replies to a pending ask.
    Reply {
        /// The ask's id.
        id: String,
        /// The answers; for a permission one word: `once`, `always`.
        answers: Vec<Vec<String>>,
    },
    /// Rejects a pending ask of the agent.
    Reject {
        /// The ask's id.
        id: String,
        /// The reason that the wire names, if its dialect has one.
        reason: &'static str,
        /// Whether an explicit policy is the cause; otherwise it is the silence of a clock.
        policy: bool,
    },
    /// Aborts the model's stream of a session.
    AbortStream {
        /// The id of the session.
        session: String,
        /// Whether the turn then counts as failed; otherwise the stream drains as a success.
        fail: bool,
        /// The text of the error.
        text: String,
        /// Whether pending asks of the session are rejected with it.
        reject_asks: bool,
    },
    /// Decides on an answer or a dismissal that a person submitted.
    Verdict {
        /// The ask's id, as submitted.
        id: String,
        /// The HTTP status.
        status: u16,
        /// The body of the response.
        body: Value,
        /// What happens to the ask.
        then: Then,
    },
    /// Publishes an event on the agent's event stream, before anything else happens.
    Publish(Value),
    /// States in one word what it did, if no other act shows it: `re-arm`.
    Note(&'static str),
    /// Removes a variable from the environment of the agent's children.
    StripEnv(&'static str),
}

/// An ask, as a strategy inside the agent sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct Ask {
    /// The ask's id; at the tool boundary, where it has none yet, the call's.
    pub id: String,
    /// The session that asks.
    pub session: String,
    /// Whether that session is a child session.
    pub child: bool,
    /// The questions; empty for a permission.
    pub questions: Vec<Question>,
    /// The permission; empty for a question.
    pub permission: String,
}

/// What happens to an ask that a person answered or dismissed ([`Act::Verdict`]).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Then {
    /// The person's answers are taken; all empty means skipped.
    Take(Vec<Vec<String>>),
    /// The person's dismissal is taken.
    Dismiss,
    /// The reply did not fit, and the ask is lost with it.
    Destroy,
    /// Nothing: it stays as it is.
    Keep,
}
