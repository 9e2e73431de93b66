//! The limits of the fakes are those of their releases: each limit of `compat.json` of a release that is played, beside the
//! fake in the same scenario.
//!
//! Invariant: a limit is the same to the second; of retries, whose pauses are random, the number of requests is. A difference
//! is in [`KNOWN`] with its reason, and one that is there and is gone fails as well.

use rehang_compat::limit::{Found, Limit, LimitKind};
use rehang_compat::{Compat, Row};
use rehang_drift::session::Session;
use rehang_scenario::agents::{AgentKind, CLAUDE, CODEX, GEMINI, OPENCODE};
use rehang_scenario::{Span, VTime};
use std::path::Path;

/// By how much a limit may differ: what a release computes takes time, and what its fake does takes none.
const APART_MS: u64 = 1_000;
/// How long a fake is watched that goes on without an end.
const HORIZON: VTime = VTime(24 * 3_600_000);
/// The most deadlines of a fake for which time is moved on.
const TICKS_MAX: u32 = 20_000;

/// Limits that a fake does not have as its release has them: the agent, the release, the limit, why.
const KNOWN: &[(&str, &str, LimitKind, &str)] =
    &[("codex", "0.169.0", LimitKind::Shutdown, "at its end it waits for a network, and no fake has one to wait for")];

/// What no fake plays.
fn is_unplayed(kind: &AgentKind, limit: LimitKind) -> bool {
    match limit {
        LimitKind::Hook => true,
        // only Claude Code's fake starts a tool server
        LimitKind::McpStart | LimitKind::McpCall => *kind != CLAUDE,
        _ => false,
    }
}

#[test]
fn a_fakes_limits_are_its_releases() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = std::fs::read_to_string(root.join("compat.json")).expect("there is a compat.json");
    let compat = Compat::read(&text).expect("it has the format");
    let (mut table, mut wrong, mut same) = (String::new(), Vec::new(), 0);
    for kind in [&CLAUDE, &OPENCODE, &CODEX, &GEMINI] {
        for version in kind.releases {
            for limit in compat.limits(kind.word, version) {
                let Limit { kind: of, found: Found::After(_) | Found::NoneIn(_) | Found::Deadlock, row: Some(row) } =
                    limit
                else {
                    continue;
                };
                if is_unplayed(kind, of) {
                    continue;
                }
                let file = root.join(format!("scenarios/upstream/{}.toml", of.scenario()));
                let fake = of_fake(crate::released::setup(Some(kind), version, &file).run(), of);
                let is_same = is_same(of, &limit.found, row, &fake);
                let known = KNOWN.iter().find(|known| (known.0, known.1, known.2) == (kind.word, *version, of));
                let mark = match (is_same, known) {
                    (true, None) => "=",
                    (false, Some(known)) => known.3,
                    (true, Some(_)) => "IS GONE",
                    (false, None) => "DIFFERS",
                };
                let line =
                    format!("{} {version} {}: {}, the fake {fake:?}: {mark}\n", kind.word, of.title(), limit.found);
                same += usize::from(mark == "=");
                if matches!(mark, "IS GONE" | "DIFFERS") {
                    wrong.push(line.clone());
                }
                table.push_str(&line);
            }
        }
    }
    println!("{table}");
    assert!(wrong.is_empty(), "{}", wrong.concat());
    assert!(same >= 24, "{same} limits are the same:\n{table}");
}

/// What a fake did: how long it waited, `None` if it never went on, and how often it asked its model.
#[derive(Debug)]
struct Fake {
    waited: Option<Span>,
    asked: usize,
}

fn of_fake(mut session: Session, limit: LimitKind) -> Fake {
    let waits_for_the_end = matches!(limit, LimitKind::Retry | LimitKind::Shutdown);
    let goes_on = |session: &Session| {
        let asked = if limit == LimitKind::McpStart { 1 } else { 2 };
        session.exit.is_some() || !waits_for_the_end && session.asked.len() >= asked
    };
    for _ in 0..TICKS_MAX {
        if goes_on(&session) || session.now > HORIZON || !session.tick() {
            break;
        }
    }
    let asked = &session.asked;
    let from = match limit {
        LimitKind::McpStart => VTime::ZERO,
        LimitKind::Shutdown => asked.last().copied().unwrap_or(VTime::ZERO),
        _ => asked.first().copied().unwrap_or(VTime::ZERO),
    };
    let went_on = if limit == LimitKind::McpStart { asked.first() } else { asked.get(1) };
    let at = went_on.filter(|_| !waits_for_the_end).copied().unwrap_or(session.now);
    Fake { waited: goes_on(&session).then(|| at.since(from)), asked: asked.len() }
}

fn is_same(limit: LimitKind, found: &Found, row: &Row, fake: &Fake) -> bool {
    match (found, fake.waited) {
        (Found::After(_), Some(_)) if limit == LimitKind::Retry => {
            row.asked.len() == fake.asked.min(row.asked.len().max(16))
        }
        (Found::After(span), Some(waited)) => span.as_ms().abs_diff(waited.as_ms()) <= APART_MS,
        (Found::NoneIn(_) | Found::Deadlock, None) => true,
        _ => false,
    }
}
