//! Sessions, messages and parts, and how they go into the compared state.
//!
//! Invariant: ids are numbered by counters in the order of creation; nothing is ever removed from a list, so an
//! index stays good for ever.

use rehang_scenario::Canon;
use rehang_scenario::turns::Response;

/// A session.
#[derive(Debug, Clone)]
pub struct Session {
    /// `ses_1`, `ses_2`, …
    pub id: String,
    /// Its parent's index.
    pub parent: Option<usize>,
    /// Its title.
    pub title: String,
    /// `build`, or `general` for a subagent.
    pub agent: &'static str,
    /// When it was made, in virtual milliseconds.
    pub created_ms: u64,
    /// When it was changed last.
    pub updated_ms: u64,
    /// Whether a summary of its diffs was made.
    pub summarised: bool,
    /// The model of its last prompt.
    pub model: Option<Model>,
    /// Input and output tokens over all replies.
    pub tokens: (u64, u64),
    /// Permissions that are denied in it, each for every pattern.
    pub denies: &'static [&'static str],
    /// Its messages.
    pub messages: Vec<Message>,
    /// The model's responses in a subagent; root sessions share the plan's.
    pub script: Vec<Response>,
    /// How many of them were used up.
    pub cursor: usize,
    /// The place of its turns in the plan, with a slash at the end (`2.1/`); empty for a root session.
    pub path: String,
    /// How many subagents stand above it.
    pub depth: u32,
}

/// Which model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Model {
    /// The provider's id.
    pub provider: String,
    /// The model's id.
    pub id: String,
}

impl Default for Model {
    fn default() -> Model {
        Model { provider: "rehang".to_owned(), id: "script".to_owned() }
    }
}

/// A message.
#[derive(Debug, Clone)]
pub struct Message {
    /// `msg_1`, …
    pub id: String,
    /// When it was made.
    pub created_ms: u64,
    /// Who says it.
    pub role: Role,
    /// Its parts.
    pub parts: Vec<Part>,
}

/// Who says a message.
#[derive(Debug, Clone)]
pub enum Role {
    /// The user, or a parent session's task tool.
    User,
    /// The model.
    Assistant(Reply),
}

/// What a reply is beside its parts.
#[derive(Debug, Clone, Default)]
pub struct Reply {
    /// The user message that it replies to, by index.
    pub to: usize,
    /// When it was completed.
    pub completed_ms: Option<u64>,
    /// Why the model's response ended.
    pub finish: Option<&'static str>,
    /// The error that ended it: its name and its text.
    pub error: Option<(&'static str, String)>,
    /// The tokens, where the model said so.
    pub usage: Option<Usage>,
    /// How many parts earlier attempts at this step left.
    pub tried: usize,
}

/// Tokens of one response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usage {
    /// Into the model.
    pub input: u64,
    /// Out of it.
    pub output: u64,
    /// The release shows their sum too.
    pub summed: bool,
}

/// A part of a message.
#[derive(Debug, Clone)]
pub struct Part {
    /// `prt_1`, …
    pub id: String,
    /// What it holds.
    pub body: Body,
}

/// What a part holds.
#[derive(Debug, Clone)]
pub enum Body {
    /// The user's text.
    Prompt(String),
    /// The model's text; `end_ms` once it is whole.
    Text {
        /// So far.
        text: String,
        /// Its begin.
        start_ms: u64,
        /// Its end.
        end_ms: Option<u64>,
    },
    /// A model response begins.
    StepStart,
    /// A model response has ended.
    StepFinish {
        /// Why.
        reason: &'static str,
        /// The tokens, where the model said so.
        usage: Option<Usage>,
    },
    /// A tool call.
    Tool(Tool),
}

/// A tool call as a message shows it.
#[derive(Debug, Clone)]
pub struct Tool {
    /// The call's id.
    pub call: String,
    /// The tool's name.
    pub name: String,
    /// Its input, as JSON; `{}` while it is pending.
    pub input: String,
    /// Where it stands.
    pub state: ToolState,
    /// When it began to run.
    pub start_ms: u64,
    /// Its title; empty where none is shown.
    pub title: String,
    /// Its metadata, as JSON without the braces; empty where none is shown.
    pub metadata: String,
}

/// Where a tool call stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolState {
    /// The model's call is not whole yet.
    Pending,
    /// It runs, or waits for a person.
    Running,
    /// It is done.
    Completed {
        /// What the model is told.
        output: String,
        /// When it ended.
        end_ms: u64,
    },
    /// It failed.
    Error {
        /// What the model is told.
        error: String,
        /// When it ended.
        end_ms: u64,
    },
}

impl Session {
    /// Writes what decides how it goes on: its prompts and its newest message, without instants, since nothing here
    /// compares them. Older replies decide nothing; a loop that only adds replies is a loop.
    pub fn canon(&self, parent: u64, canon: &mut Canon) {
        // a subagent's script is told by its place in the plan
        canon.num(parent).text(&self.path).num(self.cursor as u64);
        canon.num(self.messages.iter().filter(|message| matches!(message.role, Role::User)).count() as u64);
        if let Some(message) = self.messages.last() {
            message.canon(canon);
        }
    }

    /// The last text that the model said in it.
    pub fn last_text(&self) -> &str {
        let said = |part: &'_ Part| matches!(part.body, Body::Text { .. });
        let last = self.messages.iter().rev().find(|m| matches!(m.role, Role::Assistant(_)));
        match last.and_then(|m| m.parts.iter().rev().find(|p| said(p))) {
            Some(Part { body: Body::Text { text, .. }, .. }) => text,
            _ => "",
        }
    }

    /// Why its last reply failed: its own error, or that of its last tool call that failed.
    pub fn last_error(&self) -> Option<&str> {
        let last = self.messages.iter().rev().find(|m| matches!(m.role, Role::Assistant(_)))?;
        if let Role::Assistant(Reply { error: Some((_, text)), .. }) = &last.role {
            return Some(text);
        }
        last.parts.iter().rev().find_map(|part| match &part.body {
            Body::Tool(Tool { state: ToolState::Error { error, .. }, .. }) => Some(error.as_str()),
            _ => None,
        })
    }
}

impl Message {
    /// The reply's fields, where it is one.
    pub fn reply_mut(&mut self) -> Option<&mut Reply> {
        match &mut self.role {
            Role::Assistant(reply) => Some(reply),
            Role::User => None,
        }
    }

    fn reply(&self) -> Option<&Reply> {
        match &self.role {
            Role::Assistant(reply) => Some(reply),
            Role::User => None,
        }
    }

    fn canon(&self, canon: &mut Canon) {
        match &self.role {
            Role::User => canon.num(0),
            Role::Assistant(reply) => {
                canon.num(1).flag(reply.completed_ms.is_some()).text(reply.finish.unwrap_or(""));
                canon.text(reply.error.as_ref().map_or("", |e| e.1.as_str()))
            }
        };
        // What earlier attempts at this step left decides nothing, and each retry leaves more of it.
        let left = self.reply().map_or(0, |reply| reply.tried).min(self.parts.len());
        canon.list(&self.parts[left..], |canon, part| match &part.body {
            Body::Prompt(text) => {
                canon.num(0).text(text);
            }
            Body::Text { text, end_ms, .. } => {
                canon.num(1).text(text).flag(end_ms.is_some());
            }
            Body::StepStart => {
                canon.num(2);
            }
            Body::StepFinish { reason, .. } => {
                canon.num(3).text(reason);
            }
            Body::Tool(tool) => {
                // ids are new ones each time: the call's, and the session's that a task's metadata names
                canon.num(4).text(tool.name.as_ref()).text(if tool.name == "task" { "" } else { &tool.metadata });
                match &tool.state {
                    ToolState::Pending => canon.num(0),
                    ToolState::Running => canon.num(1),
                    ToolState::Completed { output, .. } => canon.num(2).text(output),
                    ToolState::Error { error, .. } => canon.num(3).text(error),
                };
            }
        });
    }
}
