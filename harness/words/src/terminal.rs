//! How an agent's standard streams are connected.

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How the agent's standard streams are connected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Terminal {
    /// All three streams are a controlling terminal.
    Tty,
    /// stdin is `/dev/null`; stdout and stderr are pipes.
    Null,
    /// stdin is an open pipe to which nobody writes; stdout and stderr are pipes.
    Pipe,
    /// stdin is a pipe whose other end is closed; stdout and stderr are pipes.
    Closed,
    /// As `tty`, but the agent is in a background process group: an interactive shell has started it with `&`. When the
    /// terminal is hung up, the shell sends SIGHUP to its jobs and ends, as bash does.
    TtyBackground,
    /// A controlling terminal, stdin `/dev/null`, stdout and stderr pipes.
    CttyNull,
    /// As `null`, but stdout's reader has stopped.
    StdoutStopped,
    /// As `null`, but stdout's reader takes 4,096 bytes a second.
    StdoutSlow,
    /// As `tty-background`, but the shell ignores a hang-up, as under `nohup` or `trap '' HUP`.
    TtyBackgroundNohup,
}

impl Terminal {
    /// All of them, in their order.
    pub const ALL: [Terminal; 9] = [
        Terminal::Tty,
        Terminal::Null,
        Terminal::Pipe,
        Terminal::Closed,
        Terminal::TtyBackground,
        Terminal::CttyNull,
        Terminal::StdoutStopped,
        Terminal::StdoutSlow,
        Terminal::TtyBackgroundNohup,
    ];

    /// Whether stdin is a terminal.
    pub fn stdin_is_tty(self) -> bool {
        self == Terminal::Tty || self.is_background()
    }

    /// Whether the agent is in the background of a shell's terminal.
    pub fn is_background(self) -> bool {
        matches!(self, Terminal::TtyBackground | Terminal::TtyBackgroundNohup)
    }

    /// The word that a file uses.
    pub fn name(self) -> &'static str {
        match self {
            Terminal::Tty => "tty",
            Terminal::Null => "null",
            Terminal::Pipe => "pipe",
            Terminal::Closed => "closed",
            Terminal::TtyBackground => "tty-background",
            Terminal::CttyNull => "ctty-null",
            Terminal::StdoutStopped => "stdout-stopped",
            Terminal::StdoutSlow => "stdout-slow",
            Terminal::TtyBackgroundNohup => "tty-background-nohup",
        }
    }
}
