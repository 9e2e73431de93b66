//! What makers and users say about hangs, and what the releases did.
//!
//! Invariant: a verdict follows from the outcomes of the two releases, by [`Claim::due`] (`tests/claims.rs`).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One statement about a hang, and what the releases did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// The agent, as `rehang agents` names it.
    pub agent: String,
    /// The claim, in our words.
    pub claim: String,
    /// Where it is made.
    pub source: ClaimSource,
    /// What it says about releases.
    pub says: Says,
    /// A name of `scenarios/upstream`, with its variant.
    pub scenario: String,
    /// The terminal.
    pub terminal: String,
    /// Whether the scenario does what the claim says. Without that no outcome confirms or refutes it.
    pub matches: bool,
    /// The release before the change; of [`Says::HangsIn`], the one of the report.
    pub before: ClaimRun,
    /// The release after the change; of [`Says::HangsIn`], the newest that was tried.
    pub after: ClaimRun,
    /// What came of it.
    pub verdict: Holds,
    /// What `rehang bisect` found.
    pub boundary: Option<Boundary>,
    /// Runs both releases again.
    pub command: String,
    /// What was tried, and what differs from the claim.
    pub remarks: String,
}

/// Where a claim is made: a release's notes, or an issue or pull request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClaimSource {
    /// `owner/name`.
    pub repository: String,
    /// The release whose notes say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub release: Option<String>,
    /// The number of the issue or pull request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number: Option<u32>,
}

/// What a claim says about releases.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Says {
    /// Hangs before this release, and not in it.
    FixedIn(String),
    /// Hangs from this release on, and not before.
    Since(String),
    /// A report: hangs in this release.
    HangsIn(String),
    /// Hangs before a release that the claim does not name.
    Fixed,
}

/// What one release did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClaimRun {
    /// The release.
    pub version: String,
    /// How it ended.
    pub outcome: ClaimOutcome,
    /// Virtual time from the start to the end or the verdict, in seconds.
    pub seconds: f64,
    /// The evidence of the outcome, as a row has it.
    pub proof: String,
}

/// The outcome of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ClaimOutcome {
    /// It completed.
    Completed,
    /// It failed.
    Failed,
    /// It hung.
    Hung,
    /// It was alive when its virtual time was over.
    NoEnd,
    /// It ended before it asked its model.
    NoRequest,
    /// Neither an end nor a proof.
    Undecided,
}

/// What came of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Holds {
    /// The releases do what it says.
    Confirmed,
    /// The scenario does what it says, and the releases do not.
    Refuted,
    /// The scenario does only a part of what it says, or a run is undecided.
    NotReproduced,
}

/// Two neighbours in the registry between which the outcome changes, found by `rehang bisect`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Boundary {
    /// The older one.
    pub older: String,
    /// The newer one.
    pub newer: String,
    /// Real time of the search, with installations, in seconds.
    pub seconds: f64,
    /// The search.
    pub command: String,
}

impl ClaimOutcome {
    /// The words for it.
    pub fn words(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Hung => "hung",
            Self::NoEnd => "no end",
            Self::NoRequest => "ended",
            Self::Undecided => "undecided",
        }
    }

    /// Whether it is a hang; `None` if nobody knows.
    pub fn is_hang(self) -> Option<bool> {
        match self {
            Self::Hung | Self::NoEnd => Some(true),
            Self::Completed | Self::Failed | Self::NoRequest => Some(false),
            Self::Undecided => None,
        }
    }
}

impl Holds {
    /// All of them.
    pub const ALL: [Holds; 3] = [Holds::Confirmed, Holds::Refuted, Holds::NotReproduced];

    /// The words for it.
    pub fn words(self) -> &'static str {
        match self {
            Self::Confirmed => "confirmed",
            Self::Refuted => "refuted",
            Self::NotReproduced => "not reproduced",
        }
    }
}

impl Claim {
    /// The verdict that follows from the outcomes.
    pub fn due(&self) -> Holds {
        let (Some(before), Some(after)) = (self.before.outcome.is_hang(), self.after.outcome.is_hang()) else {
            return Holds::NotReproduced;
        };
        let holds = match self.says {
            Says::FixedIn(_) | Says::Fixed => before && !after,
            Says::Since(_) => !before && after,
            Says::HangsIn(_) => before,
        };
        match (self.matches, holds) {
            (false, _) => Holds::NotReproduced,
            (true, true) => Holds::Confirmed,
            (true, false) => Holds::Refuted,
        }
    }
}

impl std::fmt::Display for Says {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::FixedIn(version) => write!(f, "fixed in {version}"),
            Self::Since(version) => write!(f, "hangs since {version}"),
            Self::HangsIn(version) => write!(f, "hangs in {version}"),
            Self::Fixed => f.write_str("fixed"),
        }
    }
}

impl std::fmt::Display for ClaimSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { repository, release, number } = self;
        match (release, number) {
            (Some(release), _) => write!(f, "release {release} of {repository}"),
            (None, Some(number)) => write!(f, "{repository}#{number}"),
            (None, None) => f.write_str(repository),
        }
    }
}

impl ClaimRun {
    /// How long it took: `2.0 min`.
    pub fn took(&self) -> String {
        let minutes = self.seconds / 60.0;
        match self.seconds {
            seconds if seconds < 120.0 => format!("{seconds:.1} s"),
            seconds if seconds < 7_200.0 => format!("{minutes:.1} min"),
            _ => format!("{:.1} h", minutes / 60.0),
        }
    }
}
