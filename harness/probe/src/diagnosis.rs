//! What two snapshots mean: one sentence, what would end it, how sure, and the evidence.
//!
//! Invariant: pure. The same snapshots and limits give the same diagnosis.

use crate::data::{Lack, Pid, Snapshot};
use serde::Serialize;

/// What is silent for how long before it counts as silent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Limits {
    /// A connection on which nothing has come for so many milliseconds is silent.
    pub silent_ms: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { silent_ms: 30_000 }
    }
}

/// What a process tree does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It waits for what nothing in sight will bring.
    Hung,
    /// It waits for what has a life or a clock of its own.
    Waiting,
    /// It moves.
    Working,
    /// There is nothing to explain: it has ended.
    Ended,
    /// What could be read does not tell.
    Unknown,
}

/// How sure a diagnosis is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs)]
pub enum Sure {
    Guess,
    Likely,
    Certain,
}

/// Why a process tree does not move, or that it does.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Diagnosis {
    /// What it does.
    pub verdict: Verdict,
    /// The name of the signature that fits, such as `stdin-open`.
    pub signature: String,
    /// The mechanism in the catalogue, such as `S1`.
    pub mechanism: Option<String>,
    /// The process that it is about.
    pub pid: Pid,
    /// One sentence.
    pub sentence: String,
    /// What would end it.
    pub ends: String,
    /// How sure that is.
    pub sure: Sure,
    /// Why not surer, or why so sure.
    pub because: String,
    /// The evidence.
    pub evidence: Evidence,
    /// What could not be read, and how it could.
    pub lacks: Vec<Lack>,
}

/// A line of evidence, and what belongs to it.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[allow(missing_docs)]
pub struct Evidence {
    pub text: String,
    pub below: Vec<Evidence>,
}

/// Says why the tree does not move.
pub fn diagnose(_before: &Snapshot, after: &Snapshot, _limits: &Limits) -> Diagnosis {
    Diagnosis {
        verdict: Verdict::Unknown,
        signature: "unknown".to_owned(),
        mechanism: None,
        pid: after.roots.first().copied().unwrap_or_default(),
        sentence: "nothing is known of it".to_owned(),
        ends: String::new(),
        sure: Sure::Guess,
        because: String::new(),
        evidence: Evidence::default(),
        lacks: after.lacks.clone(),
    }
}
