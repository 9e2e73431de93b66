//! What the client does, step by step.

use serde::{Deserialize, Serialize};

/// What the client plays.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Its steps.
    pub steps: Vec<Step>,
    /// How it treats the agent's requests of one method in the first turn; it answers all others well.
    pub answers: Option<(String, How)>,
    /// The pipes of the agent's stdin and stdout hold a page alone.
    pub has_small_pipes: bool,
}

/// A step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Step {
    /// Sends a request and does not wait.
    Ask(Ask, Expect),
    /// Sends this many requests of a method that the agent does not have.
    Flood(usize),
    /// Sends a notification of a method that the agent does not have.
    UnknownNotification,
    /// Sends a reply to a request that the agent never made.
    StrayReply,
    /// Sends a line that is no message.
    Line(String),
    /// Sends bytes without the end of a line.
    Part(String),
    /// Sends `session/cancel`, and answers open permissions with `cancelled` unless it never answers them.
    Cancel,
    /// Sends `session/cancel` for a session that does not exist.
    CancelUnknown,
    /// Waits until the agent has answered all requests.
    Replies,
    /// Waits until all that was sent is in the pipe.
    Written,
    /// Waits for the first `session/update` of the turn.
    Update,
    /// Waits until a tool runs, by `session/update`.
    Tool,
    /// Waits until the agent has made a request of this method in the turn.
    Request(String),
    /// Waits this long, in milliseconds, while the turn goes on.
    Turn(u64),
    /// Waits until this many of the agent's requests are open at once.
    Open(usize),
    /// Waits this long, in milliseconds.
    Sleep(u64),
    /// Closes the agent's stdin.
    Close,
    /// Closes all pipes to the agent, as if the client were gone.
    Vanish,
    /// Reads nothing from the agent's stdout from now on.
    StopReading,
    /// Reads again.
    Read,
    /// Waits for the end of the agent's process.
    End,
}

/// A request of the client's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Ask {
    /// `initialize` with this version.
    Initialize(u32),
    /// `authenticate` by this method.
    Authenticate(String),
    /// `session/new`.
    NewSession,
    /// `session/new` whose id is a text.
    NewSessionByText,
    /// `session/new` without its parameters.
    NewSessionOfNothing,
    /// `session/set_mode` of the first session.
    SetMode(String),
    /// `session/load` of the first session.
    Load,
    /// `session/load` of a session that does not exist.
    LoadUnknown,
    /// `session/prompt` for the session with this index.
    Prompt(usize),
    /// `session/prompt` for a session that does not exist.
    PromptUnknown,
    /// `session/prompt` in a line of a megabyte.
    LongPrompt,
    /// `session/prompt` in two writes, a second apart, that part the bytes of one character.
    SplitPrompt,
    /// A method that the agent does not have.
    Unknown,
}

/// Which reply to a request of the client's is right.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Expect {
    /// A result.
    Result,
    /// An error.
    Error,
    /// The error for a method that does not exist.
    NoMethod,
    /// A result or an error.
    Either,
    /// A result with the stop reason `cancelled`.
    Cancelled,
    /// A result: `cancelled`, or any other stop reason if the turn was over first.
    CancelledOrOver,
    /// A result with this version of the protocol.
    Version(u32),
    /// A result with another version than this one, which no agent supports.
    OtherVersion(u32),
}

/// How the client treats the agent's requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum How {
    /// Never answers.
    Never,
    /// Leaves them open; a cancel answers permissions with `cancelled`.
    Hold,
    /// Answers well after this time, in milliseconds.
    Late(u64),
    /// Answers twice.
    Twice,
    /// Answers with an error.
    Error,
    /// Answers with a result that has nothing of what it must have.
    WrongShape,
    /// Refuses a permission.
    Reject,
    /// Answers a permission with `cancelled`, without a cancel.
    Cancelled,
    /// Selects an option of a permission that was not offered.
    NotOffered,
    /// Waits for two of them, and answers the second one first.
    NewestFirst,
    /// The terminal's command runs until it is killed or its terminal is released.
    RunsUntilKilled,
}
