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
use crate::says::{Detector, Says};
use regex::Regex;

impl Detector {
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

impl Recording {
    /// This look at a moment, with what detectors say otherwise of a second one.
    #[must_use]
    pub fn with(self, agent: &str, second: &Recording) -> Recording {
        let says = Detector::ALL.into_iter().map(|detector| (detector, detector.says(agent, second)));
        let again = says.filter(|(detector, says)| detector.says(agent, &self) != *says).collect();
        Recording { again, ..self }
    }
}

/// Whether a text matches a pattern of this crate.
fn matches(pattern: &str, text: &str) -> bool {
    Regex::new(pattern).expect("a pattern of ours").is_match(text)
}
