//! What hangs a release of Codex or Gemini CLI hangs its fake, and what does not, does not: each row of `compat.json` of a
//! release that is played, beside the fake in the same scenario.
//!
//! What is compared: whether the run ends by itself, with which exit code, and whether it says that it failed; of a row in
//! virtual time also when, so that each limit of a fake is the release's to the second; of a hang, what the fake waits for at
//! the instant of the row's verdict, since on the wall clock a release may go on after it. Invariant: every release that is played has rows of each scenario of [`SCENARIOS`]; other rows
//! that a release has are compared as well.

use rehang_compat::{Compat, LimitKind, Row};
use rehang_drift::session::Session;
use rehang_os::kernel::Kernel;
use rehang_os::os::Exit;
use rehang_scenario::agents::{AgentKind, CODEX, GEMINI};
use rehang_scenario::{OutcomeKind, Terminal, VTime};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// What the rows are of: nothing wrong, then stdin, approvals and questions, the model, tools. The terminals have pipes.
const SCENARIOS: [&str; 22] = [
    "text",
    "stdin-open",
    "bash-permission",
    "question",
    "stream-stalled",
    "stream-keepalive-only",
    "stream-cut",
    "stream-without-finish",
    "model-429",
    "model-500",
    "bash-never-ends",
    "bash-ignores-term",
    "bash-reads-stdin",
    "bash-background-pipe",
    "bash-daemon-holds-stderr",
    "bash-leaves-a-process",
    "bash-reads-a-fifo",
    "bash-waits-for-a-lock",
    "bash-database-locked",
    "bash-waits-for-a-browser",
    "connect-retries",
    "ends-with-a-question",
];

/// What real releases did.
static COMPAT: LazyLock<Compat> = LazyLock::new(|| {
    let text = std::fs::read_to_string(repository().join("compat.json")).expect("the rows");
    Compat::read(&text).expect("they are in the format")
});

/// What a release says of a command if its parser was not loaded in time, which is chance (0.11.3 of Gemini CLI).
const REFUSED_BY_CHANCE: &str = "could not be parsed safely";

/// Rows that the fake is known not to follow: the agent, the release, the scenario, why.
const KNOWN: &[(&str, &str, &str, &str)] =
    &[("gemini", "0.61.0", "connect-retries", "by chance it ends at once with 1 or asks again, which the fake does")];

/// By how much a fake may end earlier or later than its release in virtual time, in milliseconds: what a release computes
/// takes time, and what its fake does takes none.
const APART_MS: u64 = 1_000;

/// How long Codex waits at its end in a sandbox that has no network, in milliseconds; no fake waits for a network.
const CODEX_AT_ITS_END_MS: u64 = 5_000;

/// Scenarios in which a release draws its pauses at random.
const RANDOM_PAUSES: [&str; 2] = ["model-429", "model-500"];

/// The most deadlines of a fake for which time is moved on.
const TICKS_MAX: u32 = 2_000;

#[test]
fn what_hangs_a_release_hangs_its_fake() {
    let (mut table, mut wrong, mut compared) = (String::new(), Vec::new(), 0);
    for kind in [&CODEX, &GEMINI] {
        for version in kind.releases {
            let more = rows(kind, version).into_iter().filter(|one| !SCENARIOS.contains(&one.as_str()));
            for scenario in SCENARIOS.into_iter().map(str::to_owned).chain(more) {
                let scenario = scenario.as_str();
                let row = row(kind, version, scenario).unwrap_or_else(|| panic!("{} {version} {scenario}", kind.word));
                let release = of_release(row);
                let (fake, is_same) = of_fake(kind, version, scenario, row);
                let by_chance = row.told.iter().any(|told| told.contains(REFUSED_BY_CHANCE));
                let known = KNOWN.iter().any(|known| (known.0, known.1, known.2) == (kind.word, version, scenario));
                let mark = match (is_same, by_chance || known) {
                    (true, _) => "=",
                    (false, true) => "~",
                    (false, false) => "DIFFERS",
                };
                let line = format!("{:<7} {version:<8} {scenario:<22} {release:<28} {fake:<28} {mark}\n", kind.word);
                table.push_str(&line);
                compared += usize::from(is_same);
                if mark == "DIFFERS" || (known && is_same) {
                    wrong.push(line);
                }
            }
        }
    }
    println!("{table}");
    assert!(wrong.is_empty(), "{}", wrong.concat());
    // a release that refuses its commands by chance says nothing in these rows
    assert!(compared >= 7 * SCENARIOS.len() - 8, "{compared} rows are the same:\n{table}");
}

#[test]
fn another_releases_row_is_noticed() {
    for (kind, of, as_of, scenario) in [
        (&CODEX, "0.169.0", "0.116.0", "stdin-open"),
        (&CODEX, "0.45.0", "0.58.0", "bash-background-pipe"),
        (&GEMINI, "0.29.0", "0.61.0", "bash-reads-stdin"),
    ] {
        let row = row(kind, of, scenario).expect("a row");
        assert!(of_fake(kind, of, scenario, row).1, "{} {of} {scenario}", kind.word);
        assert!(!of_fake(kind, as_of, scenario, row).1, "{} {of} {scenario} as {as_of}", kind.word);
    }
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn terminal(scenario: &str) -> Terminal {
    if scenario == "stdin-open" { Terminal::Pipe } else { Terminal::Null }
}

/// The scenarios of which a release has a row with an outcome, where it has pipes and the fake can play it.
fn rows(kind: &AgentKind, version: &str) -> BTreeSet<String> {
    let of = |row: &&Row| {
        // these fakes play no tool servers, hooks or settings, which a variant has
        let unplayed = [LimitKind::McpStart, LimitKind::McpCall, LimitKind::Hook].map(LimitKind::scenario);
        let is_wanted = row.agent == kind.word && row.version == version && row.outcome.is_some();
        let is_wanted = is_wanted && !unplayed.contains(&row.scenario.as_str());
        // a fake that asks its model without end at one instant never rests, and a simulated kernel has no other time for it
        let is_wanted = is_wanted && !row.scenario.contains('[') && row.detail != "hot-loop";
        is_wanted && row.terminal == terminal(&row.scenario).name()
    };
    COMPAT.rows.iter().filter(of).map(|row| row.scenario.clone()).collect()
}

/// The row of a release.
fn row(kind: &AgentKind, version: &str, scenario: &str) -> Option<&'static Row> {
    let of = |row: &&Row| {
        row.agent == kind.word
            && row.version == version
            && row.scenario == scenario
            && row.terminal == terminal(scenario).name()
    };
    COMPAT.rows.iter().find(of)
}

fn of_release(row: &Row) -> String {
    let word = row.outcome.map_or("no outcome", OutcomeKind::word);
    match row.exit {
        _ if row.is_hang() => format!("hung {} at {} s", row.detail, row.ms / 1_000),
        Some(code) if row.virtual_time.is_some() => format!("{word} {code} after {} s", row.ms / 1_000),
        Some(code) => format!("{word} {code}"),
        None => word.to_owned(),
    }
}

/// What the fake does in the place of the release, and whether that is the same.
fn of_fake(kind: &AgentKind, version: &str, scenario: &str, row: &Row) -> (String, bool) {
    let file = repository().join(format!("scenarios/upstream/{scenario}.toml"));
    let mut setup = crate::released::setup(Some(kind), version, &file);
    setup.terminal = terminal(scenario);
    let mut session = setup.run();
    let first = session.asked.first().copied().unwrap_or(VTime::ZERO);
    if row.is_hang() {
        let at = VTime(first.0 + row.ms);
        while session.exit.is_none() && session.kernel.deadline(session.now).is_some_and(|next| next <= at) {
            session.tick();
        }
        let all: Vec<String> = session.waits().into_iter().map(|(_, on)| on).collect();
        let innermost = all.get(1).filter(|on| *on == "stdin");
        let waits = innermost.or(all.first()).map_or("", String::as_str);
        let word = row.detail.as_str();
        // from outside, a tool that waits for a pipe which another process holds is seen to wait for the pipe
        let is_same = session.exit.is_none() && (waits == word || word == "pipe" && waits == "bash");
        let fake = session.exit.map_or(format!("hung {waits} at {} s", row.ms / 1_000), |exit| format!("{exit:?}"));
        return (fake, is_same);
    }
    for _ in 0..TICKS_MAX {
        if session.exit.is_some() || !session.tick() {
            break;
        }
    }
    match session.exit {
        Some(Exit::Code(code)) => {
            let is_failure = code != 0 || says_failure(&session);
            let word = if is_failure { OutcomeKind::Failed } else { OutcomeKind::Completed };
            let is_same = row.outcome == Some(word) && row.exit == Some(code.into());
            if row.virtual_time.is_none() {
                return (format!("{word} {code}"), is_same);
            }
            let at_its_end =
                if kind.word == "codex" && word == OutcomeKind::Completed { CODEX_AT_ITS_END_MS } else { 0 };
            let lasted = session.now.0.saturating_sub(first.0) + at_its_end;
            let is_in_time = lasted.abs_diff(row.ms) <= APART_MS;
            let is_in_time = is_in_time || RANDOM_PAUSES.contains(&scenario);
            (format!("{word} {code} after {} s", lasted / 1_000), is_same && is_in_time)
        }
        other => (format!("{other:?}, {:?}", session.waits().first()), false),
    }
}

/// What the recipes' signs say of a failure (`scenarios/agents`).
fn says_failure(session: &Session) -> bool {
    session
        .messages()
        .iter()
        .any(|line| line["type"] == "turn.failed" || (line["type"] == "result" && line["status"] == "error"))
}
