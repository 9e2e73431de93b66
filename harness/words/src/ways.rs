//! The ways to start an agent and to reach it, the same for all agents.
//!
//! Invariant: nothing here names a release or a mode of a file.

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A way to start an agent, the same for all agents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    /// One prompt on the command line; then the agent ends.
    Run,
    /// Prompts, and a host's answers, come over stdin.
    Stdin,
    /// An HTTP server.
    Serve,
    /// A person at a terminal.
    Interactive,
}

impl Form {
    /// Whether a program can talk to it while it runs.
    pub fn is_spoken_to(self) -> bool {
        matches!(self, Form::Stdin | Form::Serve)
    }
}

/// A way to reach an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Wire {
    /// A process that prints, ends, and can be ended.
    Process,
    /// Claude Code's stream-json and control protocol, both ways.
    ClaudeStream,
    /// opencode's HTTP and SSE.
    OpencodeHttp,
    /// PawWork's further routes.
    PawworkHttp,
    /// From inside a Claude Code persona.
    InClaude,
    /// From inside an opencode persona (opencode, altimate-code, PawWork).
    InOpencode,
    /// From inside a persona whose run has one prompt and takes no answers of its own.
    InRun,
}

impl Wire {
    /// The words for it.
    pub fn name(self) -> &'static str {
        match self {
            Wire::Process => "a process",
            Wire::ClaudeStream => "Claude's stream-json both ways",
            Wire::OpencodeHttp => "opencode's HTTP",
            Wire::PawworkHttp => "PawWork's HTTP",
            Wire::InClaude => "the inside of a Claude Code",
            Wire::InOpencode => "the inside of an opencode",
            Wire::InRun => "the inside of a one-shot run",
        }
    }
}
