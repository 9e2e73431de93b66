//! What a release did in one cell: a scenario on a terminal.
//!
//! Invariant: a row is either something seen (an outcome with its evidence) or a reason why nothing could be.

use crate::Evidence;
use rehang_words::OutcomeKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A row of a results file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Row {
    /// The agent.
    pub agent: String,
    /// Its release.
    pub version: String,
    /// The scenario, with its variant in brackets.
    pub scenario: String,
    /// The terminal.
    pub terminal: String,
    /// How it ended; `None` if it could not run.
    pub outcome: Option<OutcomeKind>,
    /// The cause of a stop, the reason of a failure, what a hang is blocked on; what it is blocked on if it has no end; why
    /// it is undecided; why it could not run.
    pub detail: String,
    /// How the outcome is known.
    pub evidence: Evidence,
    /// The agent's exit code; `-N` for signal N; `None` if it was alive at the end.
    pub exit: Option<i32>,
    /// From the first main model request to the end or the verdict, in milliseconds.
    pub ms: u64,
    /// From the start to the first main model request, in milliseconds.
    pub startup_ms: Option<u64>,
    /// When it asked its model, in milliseconds from its first main request; of many, the first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub asked: Vec<u64>,
    /// What the agent told its model.
    pub told: Vec<String>,
    /// Asks that were open at the verdict.
    pub asks: Vec<String>,
    /// Where its threads waited at the verdict, most telling first.
    pub waits: Vec<String>,
    /// Whether it loops: it took CPU time all the while, or asked its model without end.
    pub hot_loop: bool,
    /// What was wrong with the cell, or with what the agent sent.
    pub problems: Vec<String>,
    /// Network links of the agent's namespace.
    pub links: Vec<String>,
    /// How many runs it took to be sure; 1 if only one was asked for.
    pub runs: usize,
    /// The most by which a time of two runs differs, in milliseconds; `None` after one run, or if the runs asked their model
    /// not equally often.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spread_ms: Option<u64>,
    /// Runs differ: the verdicts with their counts, most frequent first. The rest of the row is of a most frequent one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flaky: Vec<String>,
    /// What `rehang why` said of each run that hung, if it was asked: `hung question-open Q1 (certain): …`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub why: Vec<String>,
    /// What `rehang supervise` told, if the release ran under it: its acts and its end, in the form of its events.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub supervised: Vec<serde_json::Value>,
    /// If it ran in virtual time: how long that was, and what is known of its end. All times of the row are virtual then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub virtual_time: Option<VirtualTime>,
    /// The day, UTC.
    pub day: String,
    /// The command that shows it again.
    pub command: String,
    /// A hash of the scenario and the recipe: a changed one runs again.
    pub of: String,
}

/// What two cells are compared by.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Verdict {
    /// The outcome; `None` if it could not run.
    pub outcome: Option<OutcomeKind>,
    /// Of a hang, or of what has no end: what it is blocked on.
    pub blocked_on: String,
}

impl Row {
    /// A row without an outcome and without a day, for a cell that could not run.
    pub fn unrun(key: &Key, of: &str, why: String) -> Row {
        Row {
            agent: key.agent.clone(),
            version: key.version.clone(),
            scenario: key.scenario.clone(),
            terminal: key.terminal.clone(),
            outcome: None,
            detail: why,
            evidence: Evidence::None,
            exit: None,
            ms: 0,
            startup_ms: None,
            asked: Vec::new(),
            told: Vec::new(),
            asks: Vec::new(),
            waits: Vec::new(),
            hot_loop: false,
            problems: Vec::new(),
            links: Vec::new(),
            runs: 0,
            spread_ms: None,
            flaky: Vec::new(),
            why: Vec::new(),
            supervised: Vec::new(),
            virtual_time: None,
            day: String::new(),
            command: key.command(),
            of: of.to_owned(),
        }
    }

    /// The cell's name.
    pub fn key(&self) -> Key {
        Key {
            agent: self.agent.clone(),
            version: self.version.clone(),
            scenario: self.scenario.clone(),
            terminal: self.terminal.clone(),
        }
    }

    /// What it is compared by.
    pub fn verdict(&self) -> Verdict {
        let blocked_on = if self.is_hang() { self.detail.clone() } else { String::new() };
        Verdict { outcome: self.outcome, blocked_on }
    }

    /// Whether the agent would not have ended by itself, as far as is known.
    pub fn is_hang(&self) -> bool {
        self.outcome.is_some_and(OutcomeKind::is_hang)
    }
}

impl std::fmt::Display for Verdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.outcome, self.blocked_on.as_str()) {
            (None, _) => f.write_str("cannot run"),
            (Some(outcome), "") => f.write_str(outcome.word()),
            (Some(outcome), blocked) => write!(f, "{outcome} ({blocked})"),
        }
    }
}

/// The name of a cell.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// The agent.
    pub agent: String,
    /// Its release.
    pub version: String,
    /// The scenario.
    pub scenario: String,
    /// The terminal.
    pub terminal: String,
}

impl Key {
    /// The command that runs it.
    pub fn command(&self) -> String {
        let Key { agent, version, scenario, terminal } = self;
        let quote = if scenario.contains(['[', ' ']) { "'" } else { "" };
        format!("rehang upstream {agent}@{version} {quote}{scenario}{quote} --terminal {terminal}")
    }
}

/// How a run in virtual time went.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct VirtualTime {
    /// Virtual time from the start to the end, in seconds.
    pub seconds: f64,
    /// Real time, in seconds.
    pub real_seconds: f64,
    /// How often the clock jumped.
    pub jumps: u64,
    /// `false` if time flowed with processor time, so that another run may differ.
    pub repeatable: bool,
    /// How many waits of tickers lasted longer than asked; 0 unless tickers are skipped.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub lengthened: u64,
    /// What each thread waited for at the end; of a hang it is the proof.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waits: Vec<String>,
    /// If it lived to the end: the timers that expired, the most frequent first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lives_by: Vec<String>,
    /// What virtual time did not reach.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Which looks at its processes were true, if there were any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub looks: Option<Tally>,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// How many looks there were, and how many were false.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Tally {
    /// All.
    pub looks: usize,
    /// Those at processes that ended by themselves later.
    pub ended: usize,
    /// Which of these were called hung, and with which words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub false_ones: Vec<String>,
    /// Those at processes of a proved deadlock.
    pub hangs: usize,
    /// How many of these were called hung.
    pub named: usize,
}

impl Tally {
    /// That of both.
    #[must_use]
    pub fn with(mut self, other: Tally) -> Tally {
        self.false_ones.extend(other.false_ones);
        Tally {
            looks: self.looks + other.looks,
            ended: self.ended + other.ended,
            false_ones: self.false_ones,
            hangs: self.hangs + other.hangs,
            named: self.named + other.named,
        }
    }

    /// The tally as lines of text; those of false looks begin with `false: `.
    pub fn lines(&self) -> Vec<String> {
        let Tally { looks, ended, false_ones, hangs, named } = self;
        let first = format!(
            "looks: {looks}; of processes that ended by themselves {ended}, {} of them called hung; of proved hangs {hangs}, \
             {named} called so",
            false_ones.len()
        );
        std::iter::once(first).chain(false_ones.iter().map(|said| format!("false: {said}"))).collect()
    }
}
