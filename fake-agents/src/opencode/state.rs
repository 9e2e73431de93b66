//! Sessions, messages and parts, and their compared form.
//!
//! Invariant: ids are numbered by counters in the order of creation; nothing is ever removed from a list, so an index
//! stays valid for ever.

use super::history;
use super::places::{Mark, Places};
use rehang_scenario::turns::Response;
use rehang_scenario::{Canon, Span, VTime};
use rehang_strategy::companion::watcher::STREAM_STALL;

/// The largest age of a message that a client compares: that of the companion's watcher and, with 60 s, its healer.
const LOOKED_AT: Span = STREAM_STALL;

/// A session of the agent.
#[derive(Debug, Clone)]
pub struct Session {
    /// The session's id: `ses_1`, `ses_2`, …
    pub id: String,
    /// The index of its parent session.
    pub parent: Option<usize>,
    /// The title of the session.
    pub title: String,
    /// The agent: `build`, or `general` for a subagent.
    pub agent: &'static str,
    /// When it was made, in virtual milliseconds.
    pub created_ms: u64,
    /// When it was last changed, in virtual milliseconds.
    pub updated_ms: u64,
    /// Whether a summary of its diffs was made.
    pub summarised: bool,
    /// The model of its last prompt.
    pub model: Option<Model>,
    /// Input and output tokens over all replies.
    pub tokens: (u64, u64),
    /// Permissions that are denied in it, each for every pattern.
    pub denies: &'static [&'static str],
    /// The messages of the session.
    pub messages: Vec<Message>,
    /// The model's responses in a subagent; root sessions share the plan's.
    pub script: Vec<Response>,
    /// How many of those responses were used up.
    pub cursor: usize,
    /// The place of its turns in the plan, with a slash at the end (`2.1/`); empty for a root session.
    pub path: String,
    /// How many sessions are above it: 0 for a root session.
    pub depth: u32,
    /// The folder that it works in.
    pub directory: String,
    /// Whether a client has deleted it: it is no longer shown.
    pub deleted: bool,
}

/// The model of a prompt.
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

/// A message of a session.
#[derive(Debug, Clone)]
pub struct Message {
    /// The message's id: `msg_1`, …
    pub id: String,
    /// When it was made, in virtual milliseconds.
    pub created_ms: u64,
    /// Who says it.
    pub role: Role,
    /// The parts of the message.
    pub parts: Vec<Part>,
}

/// The author of a message.
#[derive(Debug, Clone)]
pub enum Role {
    /// The user, or a parent session's task tool.
    User,
    /// The model, with its reply.
    Assistant(Reply),
}

/// A reply, apart from its parts.
#[derive(Debug, Clone, Default)]
pub struct Reply {
    /// The user message that it replies to, by index.
    pub to: usize,
    /// When it was completed, in virtual milliseconds.
    pub completed_ms: Option<u64>,
    /// Why the model's response ended.
    pub finish: Option<&'static str>,
    /// The error that ended it: its name and its text.
    pub error: Option<(&'static str, String)>,
    /// The tokens, if the model reported them.
    pub usage: Option<Usage>,
}

/// Tokens of one response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Usage {
    /// How many tokens went into the model.
    pub input: u64,
    /// How many came out of it.
    pub output: u64,
    /// Whether the release shows their sum too.
    pub summed: bool,
}

/// A part of a message.
#[derive(Debug, Clone)]
pub struct Part {
    /// The part's id: `prt_1`, …
    pub id: String,
    /// The content of the part.
    pub body: Body,
}

/// The content of a part.
#[derive(Debug, Clone)]
pub enum Body {
    /// A text of the user.
    Prompt(String),
    /// A text of the model; `end_ms` is set once it is whole.
    Text {
        /// The text so far.
        text: String,
        /// When it began, in virtual milliseconds.
        start_ms: u64,
        /// When it ended, in virtual milliseconds.
        end_ms: Option<u64>,
    },
    /// A model response begins.
    StepStart,
    /// A model response has ended.
    StepFinish {
        /// The finish reason.
        reason: &'static str,
        /// The tokens, if the model reported them.
        usage: Option<Usage>,
    },
    /// A call of a tool.
    Tool(Tool),
}

/// A tool call as a message shows it.
#[derive(Debug, Clone)]
pub struct Tool {
    /// The id of the call.
    pub call: String,
    /// The name of the tool.
    pub name: String,
    /// Its input, as JSON; `{}` while it is pending.
    pub input: String,
    /// The state of the call.
    pub state: ToolState,
    /// When it began to run, in virtual milliseconds.
    pub start_ms: u64,
    /// Its title; empty if none is shown.
    pub title: String,
    /// Its metadata, as JSON without the braces; empty if none is shown.
    pub metadata: String,
}

/// The state of a tool call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolState {
    /// The model's call is not whole yet.
    Pending,
    /// It runs, or waits for a person.
    Running,
    /// It has completed.
    Completed {
        /// What the model is told.
        output: String,
        /// When it ended, in virtual milliseconds.
        end_ms: u64,
    },
    /// It failed.
    Error {
        /// What the model is told.
        error: String,
        /// When it ended, in virtual milliseconds.
        end_ms: u64,
    },
}

impl Session {
    /// Writes all of it, under the place of its parent, because a client that asks for it gets all of it. Ids and
    /// instants are not compared: an id only names something and is identified by its place, and the only instants that
    /// a client looks at are those of the newest message, if messages are asked for at all.
    pub(super) fn canon(&self, at: usize, places: &Places, canon: &mut Canon) {
        let Self {
            id: _, // not compared: sessions are never removed, so the place says which it is
            parent,
            title,
            agent,
            created_ms: _, // not compared: it is sent to clients, but none of them reads it
            updated_ms: _, // not compared: it is sent to clients, but none of them reads it
            summarised,
            model,
            tokens: _, // not compared: a sum that is sent to clients, but none of them reads it
            denies,
            messages,
            script,
            cursor,
            path,
            depth,
            directory: _, // not compared: an id has one for good
            deleted,
        } = self;
        canon.flag(*deleted);
        canon.flag(parent.is_some()).num(parent.map_or(0, |parent| places.session(parent)));
        canon.text(title).text(agent).flag(*summarised).flag(model.is_some());
        if let Some(Model { provider, id }) = model {
            canon.text(provider).text(id);
        }
        canon.value(denies);
        // A subagent's script is identified by its place in the plan.
        canon.num(script.len() as u64).capped(*cursor as u64, script.len() as u64).text(path).num((*depth).into());
        history::write(canon, messages.iter().enumerate(), |canon, (nth, message)| {
            message.canon(&|part| places.marks(at, nth, part), places, canon);
        });
        if let Some(newest) = messages.last().filter(|_| places.messages_read) {
            canon.age(VTime(newest.created_ms), LOOKED_AT);
            if let Role::Assistant(reply) = &newest.role
                && let Some(completed_ms) = reply.completed_ms
            {
                canon.age(VTime(completed_ms), LOOKED_AT);
            }
        }
    }

    /// The last text that the model said in the session.
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
    /// The reply's fields, if it is a reply.
    pub fn reply_mut(&mut self) -> Option<&mut Reply> {
        match &mut self.role {
            Role::Assistant(reply) => Some(reply),
            Role::User => None,
        }
    }

    /// Writes the message. `marks` says who points at it, or at one of its parts.
    fn canon(&self, marks: &dyn Fn(Option<usize>) -> Vec<Mark>, places: &Places, canon: &mut Canon) {
        let Self {
            id: _,         // not compared: it only names the message, and no message is looked up by it
            created_ms: _, // not compared: see the session, which writes that of the newest
            role,
            parts,
        } = self;
        Mark::list(&marks(None), canon);
        match role {
            Role::User => drop(canon.num(0)),
            Role::Assistant(Reply {
                to: _, // not compared: only the id of that message is read, which names it and is never looked up
                completed_ms,
                finish,
                error,
                usage,
            }) => {
                canon.num(1).flag(completed_ms.is_some()).value(&(finish, error, usage));
            }
        }
        history::write(canon, parts.iter().enumerate(), |canon, (at, part)| {
            let Part {
                id: _, // not compared: it only names the part, and no part is looked up by it
                body,
            } = part;
            Mark::list(&marks(Some(at)), canon);
            body.canon(places, canon);
        });
    }
}

impl Body {
    fn canon(&self, places: &Places, canon: &mut Canon) {
        match self {
            Body::Prompt(text) => drop(canon.num(0).text(text)),
            Body::Text {
                text,
                start_ms: _, // not compared: it is sent to clients, but none of them reads it
                end_ms,
            } => drop(canon.num(1).text(text).flag(end_ms.is_some())),
            Body::StepStart => drop(canon.num(2)),
            Body::StepFinish { reason, usage } => drop(canon.num(3).text(reason).value(usage)),
            Body::Tool(tool) => tool.canon(places, canon.num(4)),
        }
    }
}

impl Tool {
    fn canon(&self, places: &Places, canon: &mut Canon) {
        let Self {
            call,
            name,
            input,
            state,
            start_ms: _, // not compared: it is sent to clients, but none of them reads it
            title,
            metadata,
        } = self;
        places.call(canon, call);
        // For a task the metadata names the session that was made for it, which its own tool run identifies.
        canon.text(name).text(input).text(title).text(if name == "task" { "" } else { metadata });
        match state {
            ToolState::Pending => canon.num(0),
            ToolState::Running => canon.num(1),
            ToolState::Completed {
                output,
                end_ms: _, // not compared: it is sent to clients, but none of them reads it
            } => canon.num(2).text(output),
            ToolState::Error {
                error,
                end_ms: _, // not compared: it is sent to clients, but none of them reads it
            } => canon.num(3).text(error),
        };
    }
}
