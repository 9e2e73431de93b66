//! What a hang is blocked on, in one word.

use serde::{Deserialize, Serialize};
use std::fmt;

/// What a hang is blocked on. The judge tries them in this order; the last ones are what agents say of themselves if none
/// of its rules holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BlockedOn {
    /// A process that is stopped by a signal.
    Stopped,
    /// Nothing: it takes steps without time passing.
    Spin,
    /// Its own exit, after its result.
    Exit,
    /// A question that is open.
    Question,
    /// A permission that is asked for.
    Permission,
    /// The end of its stdin, or more of it.
    Stdin,
    /// Somebody at a terminal.
    Tty,
    /// A pipe that is full, or that somebody else holds open.
    Pipe,
    /// The command of a bash tool.
    Bash,
    /// A response of the model.
    Model,
    /// Another tool.
    Tool,
    /// The companion's worker.
    Worker,
    /// The response to a client's prompt.
    Post,
    /// An event that a client waits for.
    Event,
    /// A process that it started.
    Child,
    /// Nothing at all: it says so itself.
    Nothing,
    /// A time of its own.
    Timer,
    /// A client of its server.
    Client,
    /// The answer of a server that it asked.
    Peer,
    /// A file that does not open.
    File,
    /// A message of its host.
    Message,
    /// None of these.
    Unknown,
}

impl BlockedOn {
    /// All of them, those first that the judge looks for first.
    pub const ALL: [BlockedOn; 22] = [
        BlockedOn::Stopped,
        BlockedOn::Spin,
        BlockedOn::Exit,
        BlockedOn::Question,
        BlockedOn::Permission,
        BlockedOn::Stdin,
        BlockedOn::Tty,
        BlockedOn::Pipe,
        BlockedOn::Bash,
        BlockedOn::Model,
        BlockedOn::Tool,
        BlockedOn::Worker,
        BlockedOn::Post,
        BlockedOn::Event,
        BlockedOn::Child,
        BlockedOn::Nothing,
        BlockedOn::Timer,
        BlockedOn::Client,
        BlockedOn::Peer,
        BlockedOn::File,
        BlockedOn::Message,
        BlockedOn::Unknown,
    ];

    /// The word of files, rows and reports.
    pub const fn word(self) -> &'static str {
        match self {
            BlockedOn::Stopped => "stopped",
            BlockedOn::Spin => "spin",
            BlockedOn::Exit => "exit",
            BlockedOn::Question => "question",
            BlockedOn::Permission => "permission",
            BlockedOn::Stdin => "stdin",
            BlockedOn::Tty => "tty",
            BlockedOn::Pipe => "pipe",
            BlockedOn::Bash => "bash",
            BlockedOn::Model => "model",
            BlockedOn::Tool => "tool",
            BlockedOn::Worker => "worker",
            BlockedOn::Post => "post",
            BlockedOn::Event => "event",
            BlockedOn::Child => "child",
            BlockedOn::Nothing => "nothing",
            BlockedOn::Timer => "timer",
            BlockedOn::Client => "client",
            BlockedOn::Peer => "peer",
            BlockedOn::File => "file",
            BlockedOn::Message => "message",
            BlockedOn::Unknown => "unknown",
        }
    }

    /// What a word means; `None` for any other.
    pub fn of(word: &str) -> Option<BlockedOn> {
        BlockedOn::ALL.into_iter().find(|on| on.word() == word)
    }
}

impl fmt::Display for BlockedOn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}
