//! The claims of `compat.json`: each verdict follows from the outcomes, and the page shows the data.
//!
//! Invariant: the table of `docs/claims.md` is written from the data, never the other way round:
//! `UPDATE_EXPECT=1 cargo test -p rehang-tests --test docs` writes it.

use rehang_compat::claim::{ClaimOutcome, ClaimRun, ClaimSource};
use rehang_compat::{Claim, Compat, Holds};
use std::fmt::Write as _;

/// Where the written part of the page begins.
const TABLE: &str = "## The table\n\n";

fn row(claim: &Claim, number: usize) -> String {
    let boundary = claim.boundary.as_ref();
    let found = boundary.map_or("–".to_owned(), |b| format!("{} / {} ({:.0} s)", b.older, b.newer, b.seconds));
    let bisect = boundary.map_or(String::new(), |b| format!("<br>`{}`", b.command));
    format!(
        "| {number} | {} | {} ({}; {}) | `{}`, {} | {} | {} | {} | {found} | `{}`{bisect} |\n",
        claim.agent,
        claim.claim,
        claim.says,
        link(&claim.source),
        claim.scenario,
        claim.terminal,
        cell(&claim.before),
        cell(&claim.after),
        claim.verdict.words(),
        claim.command,
    )
}

fn link(source: &ClaimSource) -> String {
    let ClaimSource { repository, number, .. } = source;
    number.map_or(source.to_string(), |number| format!("[{source}](https://github.com/{repository}/issues/{number})"))
}

fn cell(run: &ClaimRun) -> String {
    let words = match run.outcome {
        ClaimOutcome::Hung | ClaimOutcome::NoEnd => format!("**{}**", run.outcome.words()),
        other => other.words().to_owned(),
    };
    format!("{}: {words} {}, {}", run.version, run.took(), run.proof)
}

/// The counts, the table, and the remarks.
fn page(compat: &Compat) -> String {
    let mut page = String::from(TABLE);
    let count = |verdict| compat.claims.iter().filter(|claim| claim.verdict == verdict).count();
    let counts = Holds::ALL.map(|verdict| format!("{} {}", count(verdict), verdict.words()));
    let boundaries = compat.claims.iter().filter(|claim| claim.boundary.is_some()).count();
    let total = compat.claims.len();
    writeln!(page, "{total} claims: {}. {boundaries} boundaries by bisect.\n", counts.join(", ")).expect("a string");
    page += "| | agent | claim | scenario, terminal | before | after | verdict | boundary | commands |\n";
    page += "|---|---|---|---|---|---|---|---|---|\n";
    page.extend(compat.claims.iter().zip(1..).map(|(claim, number)| row(claim, number)));
    page += "\n## Remarks\n\n";
    page.extend(compat.claims.iter().zip(1..).map(|(claim, number)| format!("{number}. {}\n", claim.remarks)));
    page
}

#[test]
fn the_page_of_claims_shows_the_data() {
    super::ends_with("docs/claims.md", TABLE, &page(&super::compat()));
}

#[test]
fn each_verdict_of_a_claim_follows_from_the_outcomes() {
    let claims = super::compat().claims;
    for claim in &claims {
        assert_eq!(claim.verdict, claim.due(), "{}: {}", claim.agent, claim.claim);
        assert!(!claim.remarks.is_empty(), "{}: {}: what was tried is missing", claim.agent, claim.claim);
        let names = |run: &ClaimRun| claim.command.contains(&format!("{}@{}", claim.agent, run.version));
        assert!(names(&claim.before) && names(&claim.after), "{} runs other releases", claim.command);
    }
    assert!(claims.len() >= 20, "only {} claims were tried", claims.len());
}

#[test]
fn each_scenario_of_a_claim_exists() {
    let paths =
        rehang_runner::corpus::paths(&super::root().join("scenarios/upstream")).expect("the scenarios can be read");
    let corpus = rehang_runner::corpus::Corpus::read(&paths);
    for claim in &super::compat().claims {
        let (file, variant) = claim.scenario.trim_end_matches(']').split_once('[').unwrap_or((&claim.scenario, ""));
        let family = corpus.families.iter().find(|family| family.name.rsplit('/').next() == Some(file));
        let variants = family.map_or(&[][..], |family| &family.variants);
        assert!(variants.iter().any(|found| found.name == variant), "there is no scenario {}", claim.scenario);
        assert!(claim.command.contains(&claim.scenario), "{} plays another scenario", claim.command);
    }
}
