//! Programs that show an agent's status, and `rehang why`.
//!
//! Each of the former has published rules that read an agent's screen; what is here is written anew from them; their
//! versions are in [`Detector::name`], their files in `docs/screens.md`. Newer versions may differ.
//!
//! Invariant: a detector sees the screen, its title, its operating system commands, how long it has been still, and the
//! agent's name; [`Detector::Why`] sees what `rehang why` said. None sees the label.

mod agentapi;
mod ccmanager;
mod claude_squad;
mod herdr;
mod said;
mod why;

use crate::recording::Recording;
use regex::Regex;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a detector says that an agent is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Says {
    /// It works.
    Working,
    /// It asks for a permission or an answer.
    Asking,
    /// It is ready for the next input.
    Idle,
    /// It hangs.
    Stuck,
    /// Nothing: it keeps what it said before, or does not know.
    Nothing,
}

impl Says {
    /// All, in the order of the tables.
    pub const ALL: [Says; 5] = [Says::Working, Says::Asking, Says::Idle, Says::Stuck, Says::Nothing];

    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Says::Working => "working",
            Says::Asking => "asking",
            Says::Idle => "idle",
            Says::Stuck => "stuck",
            Says::Nothing => "nothing",
        }
    }
}

/// A detector.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Detector {
    /// ccmanager (npm).
    Ccmanager,
    /// agentapi (Go).
    Agentapi,
    /// claude-squad (Go).
    ClaudeSquad,
    /// herdr (crates.io).
    Herdr,
    /// `rehang why`.
    Why,
    /// The agent's own title and program status.
    Said,
    /// The agent's own hooks.
    Hooks,
}

impl Detector {
    /// All, in the order of the tables.
    pub const ALL: [Detector; 7] = [
        Detector::Ccmanager,
        Detector::Agentapi,
        Detector::ClaudeSquad,
        Detector::Herdr,
        Detector::Why,
        Detector::Said,
        Detector::Hooks,
    ];

    /// Its name and the version of its rules.
    pub fn name(self) -> &'static str {
        match self {
            Detector::Ccmanager => "ccmanager 4.3.1",
            Detector::Agentapi => "agentapi 0.12.1",
            Detector::ClaudeSquad => "claude-squad 1.0.17",
            Detector::Herdr => "herdr 0.8.0",
            Detector::Why => "`rehang why`",
            Detector::Said => "title, OSC 7501",
            Detector::Hooks => "hooks",
        }
    }

    /// What it says of this agent, given what is recorded of it.
    pub fn says(self, agent: &str, recording: &Recording) -> Says {
        match self {
            Detector::Ccmanager => ccmanager::says(agent, recording),
            Detector::Agentapi => agentapi::says(recording),
            Detector::ClaudeSquad => claude_squad::says(agent, recording),
            Detector::Herdr => herdr::says(agent, recording),
            Detector::Why => why::says(recording),
            Detector::Said => said::says(agent, recording),
            Detector::Hooks => said::by_hooks(recording),
        }
    }
}

/// What detectors say of the first look at a moment and not of the second one.
pub(crate) fn differences(agent: &str, first: &Recording, second: &Recording) -> BTreeMap<Detector, Says> {
    let says = Detector::ALL.into_iter().map(|detector| (detector, detector.says(agent, second)));
    says.filter(|(detector, says)| detector.says(agent, first) != *says).collect()
}

/// Whether a text matches a pattern of this crate.
fn matches(pattern: &str, text: &str) -> bool {
    Regex::new(pattern).expect("a pattern of ours").is_match(text)
}
