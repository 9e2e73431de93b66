//! What makers and users say about hangs, held against runs of the releases: `claims.json`, and the page that shows it.
//!
//! Invariant: a verdict follows from the outcomes of the two releases, by [`Claim::due`]. The table of `docs/claims.md` is
//! written from the data, never the other way round: `UPDATE_EXPECT=1 cargo test -p rehang-tests --test docs` writes it.

use serde::Deserialize;
use std::fmt::Write as _;

/// Where the written part of the page begins.
const TABLE: &str = "## The table\n\n";

/// The file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Claims {
    /// The version of the format.
    version: u32,
    claims: Vec<Claim>,
}

/// One statement about a hang, and what the releases did.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Claim {
    /// The agent, as `rehang agents` names it.
    agent: String,
    /// The claim, in our words.
    claim: String,
    source: Source,
    says: Says,
    /// A name of `scenarios/upstream`, with its variant.
    scenario: String,
    terminal: String,
    /// Whether the scenario does what the claim says. Without that no outcome confirms or refutes it.
    matches: bool,
    before: Run,
    after: Run,
    verdict: Verdict,
    boundary: Option<Boundary>,
    /// Runs both releases again.
    command: String,
    remarks: String,
}

/// Where the claim is made: a release's notes, or an issue or pull request.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Source {
    repository: String,
    release: Option<String>,
    number: Option<u32>,
}

/// What the claim says about releases.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Says {
    /// Hangs before this release, and not in it.
    FixedIn(String),
    /// Hangs from this release on, and not before.
    Since(String),
    /// A report: hangs in this release. `before` is that release, `after` is the newest one that was tried.
    HangsIn(String),
    /// Hangs before a release that the claim does not name.
    Fixed,
}

/// What one release did.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Run {
    version: String,
    outcome: Outcome,
    /// Virtual time from the start to the end or the verdict, in seconds.
    seconds: f64,
    /// The evidence of the outcome, as a row has it.
    proof: String,
}

/// The outcome of a run.
#[derive(Deserialize, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
enum Outcome {
    Completed,
    Failed,
    Hung,
    NoEnd,
    /// It ended before it asked its model.
    NoRequest,
    Undecided,
}

#[derive(Deserialize, Clone, Copy, PartialEq, Eq, Debug)]
#[serde(rename_all = "kebab-case")]
enum Verdict {
    Confirmed,
    Refuted,
    NotReproduced,
}

/// Two neighbours in the registry between which the outcome changes, found by `rehang bisect`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Boundary {
    older: String,
    newer: String,
    /// Real time of the search, with installations, in seconds.
    seconds: f64,
    command: String,
}

impl Outcome {
    fn name(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Hung => "**hung**",
            Self::NoEnd => "**no end**",
            Self::NoRequest => "ended",
            Self::Undecided => "undecided",
        }
    }

    /// Whether it is a hang; `None` if nobody knows.
    fn is_hang(self) -> Option<bool> {
        match self {
            Self::Hung | Self::NoEnd => Some(true),
            Self::Completed | Self::Failed | Self::NoRequest => Some(false),
            Self::Undecided => None,
        }
    }
}

impl Verdict {
    fn name(self) -> &'static str {
        match self {
            Self::Confirmed => "confirmed",
            Self::Refuted => "refuted",
            Self::NotReproduced => "not reproduced",
        }
    }
}

impl Claim {
    /// The verdict that follows from the outcomes.
    fn due(&self) -> Verdict {
        let (Some(before), Some(after)) = (self.before.outcome.is_hang(), self.after.outcome.is_hang()) else {
            return Verdict::NotReproduced;
        };
        let holds = match self.says {
            Says::FixedIn(_) | Says::Fixed => before && !after,
            Says::Since(_) => !before && after,
            Says::HangsIn(_) => before,
        };
        match (self.matches, holds) {
            (false, _) => Verdict::NotReproduced,
            (true, true) => Verdict::Confirmed,
            (true, false) => Verdict::Refuted,
        }
    }

    fn says(&self) -> String {
        match &self.says {
            Says::FixedIn(version) => format!("fixed in {version}"),
            Says::Since(version) => format!("hangs since {version}"),
            Says::HangsIn(version) => format!("hangs in {version}"),
            Says::Fixed => "fixed".to_owned(),
        }
    }

    fn row(&self, number: usize) -> String {
        let boundary = self.boundary.as_ref();
        let found = boundary.map_or("–".to_owned(), |b| format!("{} / {} ({:.0} s)", b.older, b.newer, b.seconds));
        let bisect = boundary.map_or(String::new(), |b| format!("<br>`{}`", b.command));
        format!(
            "| {number} | {} | {} ({}; {}) | `{}`, {} | {} | {} | {} | {found} | `{}`{bisect} |\n",
            self.agent,
            self.claim,
            self.says(),
            self.source.link(),
            self.scenario,
            self.terminal,
            self.before.cell(),
            self.after.cell(),
            self.verdict.name(),
            self.command,
        )
    }
}

impl Source {
    fn link(&self) -> String {
        let Self { repository, release, number } = self;
        match (release, number) {
            (Some(release), None) => format!("release {release} of {repository}"),
            (None, Some(number)) => format!("[{repository}#{number}](https://github.com/{repository}/issues/{number})"),
            _ => panic!("{repository}: a source is a release or a number"),
        }
    }
}

impl Run {
    fn cell(&self) -> String {
        let minutes = self.seconds / 60.0;
        let time = match self.seconds {
            seconds if seconds < 120.0 => format!("{seconds:.1} s"),
            seconds if seconds < 7_200.0 => format!("{minutes:.1} min"),
            _ => format!("{:.1} h", minutes / 60.0),
        };
        format!("{}: {} {time}, {}", self.version, self.outcome.name(), self.proof)
    }
}

impl Claims {
    fn read() -> Self {
        let text = std::fs::read(super::root().join("claims.json")).expect("there is a file of claims");
        serde_json::from_slice(&text).expect("it has the format")
    }

    /// The counts, the table, and the remarks.
    fn page(&self) -> String {
        let mut page = String::from(TABLE);
        let count = |verdict| self.claims.iter().filter(|claim| claim.verdict == verdict).count();
        let verdicts = [Verdict::Confirmed, Verdict::Refuted, Verdict::NotReproduced];
        let counts = verdicts.map(|verdict| format!("{} {}", count(verdict), verdict.name()));
        let boundaries = self.claims.iter().filter(|claim| claim.boundary.is_some()).count();
        let total = self.claims.len();
        writeln!(page, "{total} claims: {}. {boundaries} boundaries by bisect.\n", counts.join(", "))
            .expect("a string");
        page += "| | agent | claim | scenario, terminal | before | after | verdict | boundary | commands |\n";
        page += "|---|---|---|---|---|---|---|---|---|\n";
        page.extend(self.claims.iter().zip(1..).map(|(claim, number)| claim.row(number)));
        page += "\n## Remarks\n\n";
        page.extend(self.claims.iter().zip(1..).map(|(claim, number)| format!("{number}. {}\n", claim.remarks)));
        page
    }
}

#[test]
fn the_page_of_claims_shows_the_data() {
    let path = super::root().join("docs/claims.md");
    let text = std::fs::read_to_string(&path).expect("there is a page of claims");
    let (head, shown) = text.split_at(text.find(TABLE).expect("the page has a table"));
    let due = Claims::read().page();
    if shown != due && std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(&path, format!("{head}{due}")).expect("the page can be written");
    }
    assert!(shown == due, "docs/claims.md differs from claims.json: run this with UPDATE_EXPECT=1");
}

#[test]
fn each_verdict_of_a_claim_follows_from_the_outcomes() {
    let Claims { version, claims } = Claims::read();
    assert_eq!(version, 1);
    for claim in &claims {
        assert_eq!(claim.verdict, claim.due(), "{}: {}", claim.agent, claim.claim);
        assert!(!claim.remarks.is_empty(), "{}: {}: what was tried is missing", claim.agent, claim.claim);
        let names = |run: &Run| claim.command.contains(&format!("{}@{}", claim.agent, run.version));
        assert!(names(&claim.before) && names(&claim.after), "{} runs other releases", claim.command);
    }
    assert!(claims.len() >= 20, "only {} claims were tried", claims.len());
}

#[test]
fn each_scenario_of_a_claim_exists() {
    let paths =
        rehang_runner::corpus::paths(&super::root().join("scenarios/upstream")).expect("the scenarios can be read");
    let corpus = rehang_runner::corpus::Corpus::read(&paths);
    for claim in &Claims::read().claims {
        let (file, variant) = claim.scenario.trim_end_matches(']').split_once('[').unwrap_or((&claim.scenario, ""));
        let family = corpus.families.iter().find(|family| family.name.rsplit('/').next() == Some(file));
        let variants = family.map_or(&[][..], |family| &family.variants);
        assert!(variants.iter().any(|found| found.name == variant), "there is no scenario {}", claim.scenario);
        assert!(claim.command.contains(&claim.scenario), "{} plays another scenario", claim.command);
    }
}
