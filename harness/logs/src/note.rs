//! What a log says, in one vocabulary for all formats.
//!
//! Invariant: a note holds what is in the log; what it means is decided later, from all notes.

use rehang_scenario::turns::Question;

/// Who wrote the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Kind {
    /// No known agent: a plain program.
    #[default]
    Program,
    /// Claude Code.
    Claude,
    /// opencode or a fork of it.
    Opencode,
    /// Codex.
    Codex,
    /// Gemini CLI, or Qwen Code.
    Gemini,
    /// Amp.
    Amp,
    /// pi.
    Pi,
    /// Copilot CLI, as text.
    Copilot,
    /// An agent that is not known: its events are.
    Other,
}

impl Kind {
    /// Whether nothing but text is known of it.
    pub fn is_program(self) -> bool {
        matches!(self, Kind::Program | Kind::Copilot)
    }

    /// Whether a person or a client can stop it, as its fake plays it; another's stop is a failure.
    pub fn is_stopped_from_outside(self) -> bool {
        matches!(self, Kind::Claude | Kind::Opencode)
    }

    /// Whether it asks nobody anything, and nobody but a signal reaches it: `codex exec`, `gemini -p`.
    pub fn is_alone(self) -> bool {
        matches!(self, Kind::Codex | Kind::Gemini)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Program => "a program",
            Kind::Claude => "Claude Code",
            Kind::Opencode => "opencode",
            Kind::Codex => "Codex",
            Kind::Gemini => "Gemini CLI",
            Kind::Amp => "Amp",
            Kind::Pi => "pi",
            Kind::Copilot => "Copilot CLI",
            Kind::Other => "an agent",
        }
    }
}

/// A fork of opencode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fork {
    /// altimate-code.
    Altimate,
    /// PawWork.
    Pawwork,
}

/// How the agent was used, as far as the log shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Form {
    /// Its output alone: `-p`, `run`.
    #[default]
    Once,
    /// Text out, nothing else.
    Text,
    /// Messages both ways.
    Host,
    /// A server and its clients.
    Server,
    /// A session's transcript, written beside it; where its user was is not known.
    Transcript,
    /// A terminal.
    Screen,
}

/// One thing that a log says.
#[derive(Debug, Clone, PartialEq)]
pub enum Note {
    /// The agent, its release, its form.
    Agent {
        /// Who.
        kind: Kind,
        /// Release, if said.
        release: Option<String>,
        /// Form.
        form: Form,
    },
    /// The permission mode (Claude Code).
    Mode(String),
    /// Somebody can be asked over the control protocol.
    PromptTool,
    /// A session, and the session or call that it belongs to.
    Session {
        /// Its id.
        id: String,
        /// Its parent's id.
        parent: Option<String>,
        /// The tool call that it does the work of.
        call: Option<String>,
        /// It began within this log.
        created: bool,
    },
    /// Somebody prompts it.
    Prompt {
        /// The session.
        session: String,
        /// Whether a client sent it; the text is not kept.
        by_client: bool,
    },
    /// The model says something.
    Text {
        /// The session.
        session: String,
        /// The response that it belongs to.
        message: String,
        /// The part of the response; a later note with the same part replaces it.
        part: String,
        /// The text.
        text: String,
        /// It adds to the part instead.
        delta: bool,
    },
    /// The model thinks: progress without words.
    Thinks {
        /// The session.
        session: String,
    },
    /// The model calls a tool; a later note with the same call adds what it knows.
    Call {
        /// The session.
        session: String,
        /// The response that it belongs to.
        message: String,
        /// Its id.
        call: String,
        /// What it calls.
        does: Calls,
    },
    /// A call's output so far: material progress.
    Output {
        /// The call.
        call: String,
    },
    /// A call ended, and the model is told this.
    Told {
        /// The call.
        call: String,
        /// Whether the result is an error.
        error: bool,
        /// The text.
        text: String,
        /// The command's exit code.
        code: Option<i64>,
    },
    /// A call was denied without asking anybody.
    Denied {
        /// The call.
        call: String,
    },
    /// A person is asked something.
    Asked {
        /// Its id.
        id: String,
        /// The session.
        session: String,
        /// The call that asks.
        call: Option<String>,
        /// What is asked.
        asks: Asks,
    },
    /// An ask ended.
    AskEnded {
        /// Its id.
        id: String,
        /// How.
        how: Reply,
    },
    /// A response ended.
    Finish {
        /// The session.
        session: String,
        /// The response.
        message: String,
        /// `stop`, `tool-calls`, `unknown`, …
        reason: String,
    },
    /// A session is busy, or idle.
    Busy {
        /// The session.
        session: String,
        /// Whether it is busy.
        busy: bool,
    },
    /// A server shows what only a fork of opencode has.
    Fork(Fork),
    /// Somebody closes the agent's stdin.
    InputEnds,
    /// Somebody sends something that is not a message.
    Misfit,
    /// A reply came to an ask that the server no longer knows.
    Unknown {
        /// The ask.
        id: String,
    },
    /// A client looks at the status of sessions.
    Resyncs,
    /// A client's event stream begins, or begins again.
    Connected,
    /// Somebody stops a session, or interrupts.
    Stop {
        /// The session; empty for the root.
        session: String,
    },
    /// The model's server refuses, and is asked again.
    Retry {
        /// The session.
        session: String,
        /// Its HTTP status.
        status: Option<u16>,
    },
    /// A response was cut off, and the model is asked to go on.
    CutOff {
        /// The session.
        session: String,
    },
    /// A session failed.
    Failed {
        /// The session.
        session: String,
        /// How.
        why: String,
        /// It was stopped by somebody.
        aborted: bool,
    },
    /// The context is compacted.
    Compacted {
        /// The session.
        session: String,
    },
    /// The agent's own result.
    Result {
        /// It says that it went well.
        ok: bool,
        /// It was stopped by somebody.
        aborted: bool,
        /// What it says of it.
        text: String,
    },
    /// A run or a turn ended, and the event does not say how.
    Unclear {
        /// The session.
        session: String,
        /// The event's kind.
        kind: String,
    },
    /// A task in the background begins, or is over.
    Task {
        /// Its id.
        id: String,
        /// The call that started it; also an id of it.
        call: Option<String>,
        /// What it does.
        description: String,
        /// It is over.
        over: bool,
    },
    /// A client's prompt request has no response, or a whole one.
    Post {
        /// Whether one came.
        answered: bool,
        /// The client waits for events instead (`prompt_async`).
        events: bool,
    },
    /// A hook of the user's begins, or is over.
    Hook {
        /// Which run of it.
        id: String,
        /// Its name, with the event that it is for.
        name: String,
        /// It is over.
        over: bool,
    },
    /// A sign of life without progress.
    Alive,
    /// A plain program prints.
    Prints {
        /// To stderr.
        stderr: bool,
        /// A logger wrote it, with a time of its own in front.
        logged: bool,
        /// What; need not be a whole line.
        text: String,
    },
    /// Somebody types.
    Types,
    /// The program exits.
    Exit(i64),
}

/// What a tool call does.
#[derive(Debug, Clone, PartialEq)]
pub enum Calls {
    /// Asks questions.
    Ask(Vec<Question>),
    /// Runs a command.
    Bash {
        /// The command line.
        command: String,
        /// The limit that the model set, in milliseconds.
        timeout_ms: Option<u64>,
    },
    /// Starts a subagent.
    Task {
        /// What it must do, in short.
        description: String,
        /// Its session.
        child: Option<String>,
    },
    /// Another tool.
    Tool {
        /// Its name.
        name: String,
        /// What it is called with, in short.
        on: String,
    },
}

/// What is asked.
#[derive(Debug, Clone, PartialEq)]
pub enum Asks {
    /// Questions.
    Questions(Vec<Question>),
    /// A permission.
    Permission {
        /// Its name.
        permission: String,
        /// What for.
        patterns: Vec<String>,
    },
}

/// How an ask ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    /// Answered: labels for each question.
    Answers(Vec<Vec<String>>),
    /// Allowed.
    Allowed,
    /// Allowed for ever.
    Always,
    /// Denied.
    Denied,
    /// An empty answer.
    Skipped,
    /// Dismissed.
    Dismissed,
    /// Withdrawn by the agent.
    Withdrawn,
}
