//! Drafts: the scenario that hangs as a process on a machine does.

use crate::Mechanism;
use rehang_words::{BlockedOn, Terminal};

/// What a look shows of a process whose hang is drafted.
#[derive(Debug, Clone, Copy, Default)]
pub struct Shown<'a> {
    /// The mechanism that the look names.
    pub mechanism: Option<Mechanism>,
    /// The name of the agent that the process is; empty if it is none.
    pub agent: &'a str,
    /// The text of the first open question, empty if there is none.
    pub question: &'a str,
    /// The answers that the question offers.
    pub options: &'a [String],
}

impl Shown<'_> {
    /// Whether the process is Claude Code.
    pub(crate) fn is_claude(&self) -> bool {
        self.agent == "claude"
    }
}

/// The parts of a scenario file that differ from one hang to another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Play {
    /// The value of `agent`, as TOML.
    pub agent: String,
    /// More lines of the file, each with its line end.
    pub more: String,
    /// How the agent's streams are connected.
    pub terminal: Terminal,
    /// What the judge says that it hangs on.
    pub hung: BlockedOn,
    /// The lines of `[control]`: the change under which it does not hang.
    pub control: String,
}

impl Play {
    /// A program with these steps.
    pub(crate) fn program(steps: &str, terminal: Terminal, hung: BlockedOn, control: impl Into<String>) -> Play {
        let agent = format!("{{ program = [{steps}] }}");
        Play { agent, more: String::new(), terminal, hung, control: control.into() }
    }

    /// A run of an agent in which a fault is injected: healthy without the fault.
    pub(crate) fn with_fault(agent: &str, turns: &str, fault: &str, hung: BlockedOn) -> Play {
        let more = format!("turns     = {turns}\nfaults    = [{fault}]\n");
        Play { agent: agent.to_owned(), more, terminal: Terminal::Null, hung, control: "faults = []".to_owned() }
    }
}

/// A control arm in which a program with these steps runs in place of the agent.
pub(crate) fn instead(steps: &str) -> String {
    format!("agent = {{ program = [{steps}] }}")
}

/// A TOML basic string: its escapes are JSON's.
pub fn quoted(text: &str) -> String {
    serde_json::Value::from(text.replace('\u{7f}', " ")).to_string()
}
