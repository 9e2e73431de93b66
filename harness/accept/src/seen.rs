//! What was seen of a cell: all that a rule of a scenario file can speak of.
//!
//! Invariant: whether a rule fits is said by [`rehang_judge::meets()`] alone, so that what is accepted here is what a
//! run takes.

use rehang_judge::{Breach, Mismatch, Outcome, Transcript, Verdict, meets};
use rehang_scenario::{BlockedOn, Expect, Expected, Invariant, Policy, Proof, VTime};
use serde::{Deserialize, Serialize};

/// What came of one cell on one stage.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Seen {
    /// How it ended, and what it broke.
    pub end: End,
    /// The same of the strategy `none` beside it.
    pub none: End,
    /// When it ended.
    pub ended: VTime,
    /// All reports: who, and what they claim.
    pub reports: Vec<(String, Policy)>,
    /// What the model was told.
    pub told: Vec<String>,
    /// What the model was told under `none`.
    pub none_told: Vec<String>,
    /// What strategies said to their users, in order.
    pub said: Vec<String>,
    /// The HTTP statuses that the acts of people got.
    pub gets: Vec<u16>,
}

/// An outcome, with what is broken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    /// The outcome.
    pub outcome: Ended,
    /// The broken invariants, in their order.
    pub broken: Vec<Invariant>,
}

/// An outcome.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ended {
    /// It came to its end.
    Completed,
    /// Ended by a strategy or a person, with this cause.
    Stopped(String),
    /// It failed, for this reason.
    Failed(String),
    /// It hangs on this, and this proves it.
    Hung(BlockedOn, Proof),
    /// Given up, and why.
    Undecided(String),
}

impl Seen {
    /// What a verdict shows, beside that of `none`.
    pub fn of(verdict: &Verdict, none: &Verdict) -> Seen {
        Seen {
            end: End::of(verdict),
            none: End::of(none),
            ended: verdict.ended,
            reports: verdict.policies.iter().map(|(who, _, policy)| (who.clone(), policy.clone())).collect(),
            told: verdict.told.clone(),
            none_told: none.told.clone(),
            said: verdict.said.clone(),
            gets: verdict.gets.clone(),
        }
    }

    /// All that is not as a rule says.
    pub fn misses(&self, rule: &Expect) -> Vec<Mismatch> {
        let none = Seen { end: self.none.clone(), reports: Vec::new(), ..self.clone() };
        meets(&self.verdict(), Some(&none.verdict()), rule)
    }

    /// A verdict with all that a rule is compared with.
    fn verdict(&self) -> Verdict {
        let breach = |&invariant: &Invariant| Breach { invariant, at: self.ended, why: String::new() };
        Verdict {
            outcome: self.end.outcome.judged(),
            settled_by: None,
            ended: self.ended,
            policies: self.reports.iter().map(|(who, policy)| (who.clone(), self.ended, policy.clone())).collect(),
            asks: Vec::new(),
            told: self.told.clone(),
            said: self.said.clone(),
            gets: self.gets.clone(),
            rejected: 0,
            last_progress: VTime::ZERO,
            waited: None,
            killed: None,
            gone: None,
            transcript: Transcript::default(),
            breaches: self.end.broken.iter().map(breach).collect(),
        }
    }
}

impl End {
    fn of(verdict: &Verdict) -> End {
        let outcome = match &verdict.outcome {
            Outcome::Completed => Ended::Completed,
            Outcome::Stopped { cause } => Ended::Stopped(cause.clone()),
            Outcome::Failed { reason } => Ended::Failed(reason.clone()),
            Outcome::Hung { blocked_on, proof } => Ended::Hung(*blocked_on, *proof),
            Outcome::Undecided { why } => Ended::Undecided(why.clone()),
        };
        End { outcome, broken: verdict.broken() }
    }
}

impl Ended {
    fn judged(&self) -> Outcome {
        match self.clone() {
            Ended::Completed => Outcome::Completed,
            Ended::Stopped(cause) => Outcome::Stopped { cause },
            Ended::Failed(reason) => Outcome::Failed { reason },
            Ended::Hung(blocked_on, proof) => Outcome::Hung { blocked_on, proof },
            Ended::Undecided(why) => Outcome::Undecided { why },
        }
    }

    /// The same, as a file says it.
    pub fn expected(&self) -> Expected {
        match self {
            Ended::Completed => Expected::Completed,
            Ended::Stopped(cause) => Expected::Stopped(cause.clone()),
            Ended::Failed(_) => Expected::Failed,
            Ended::Hung(on, _) => Expected::Hung(on.word().to_owned()),
            Ended::Undecided(_) => Expected::Undecided,
        }
    }

    /// Whether it is an end: no hang, and not given up.
    pub fn is_end(&self) -> bool {
        !matches!(self, Ended::Hung(..) | Ended::Undecided(_))
    }

    /// How a hang is proved.
    pub fn proof(&self) -> Option<Proof> {
        match self {
            Ended::Hung(_, proof) => Some(*proof),
            _ => None,
        }
    }
}
