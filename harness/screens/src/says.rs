//! What programs that show an agent's status can say, and which of them are compared.

use serde::{Deserialize, Serialize};

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
}
