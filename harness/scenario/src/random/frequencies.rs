//! How often what is drawn, by the kind of agent.
//!
//! Invariant: a seed draws what it has always drawn, so that a seed in a report leads to the same scenario. Whoever
//! changes a weight or a word changes this table, and sees in it what else has changed.

use super::{Kind, Rng};
use crate::agents;
use expect_test::expect_file;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Scenarios of each kind.
const EACH: usize = 400;

/// Counts the keys of a value, lists by their lengths, and values that are words of the format, flags or numbers.
fn count(path: &str, value: &Value, counts: &mut BTreeMap<String, usize>) {
    let mut add = |what: String| *counts.entry(what).or_default() += 1;
    match value {
        Value::Object(table) => {
            for (key, value) in table {
                // a key is known by the one above it, however deeply processes are nested
                let above = path.rsplit('.').next().unwrap_or_default();
                count(&format!("{above}.{key}"), value, counts);
            }
        }
        Value::Array(list) => {
            add(format!("{path}: {} of them", list.len()));
            list.iter().for_each(|value| count(path, value, counts));
        }
        Value::String(text) => {
            let word = text.len() < 24 && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-');
            add(if word { format!("{path} = {text}") } else { format!("{path} = …") });
        }
        Value::Null => {}
        other => add(format!("{path} = {other}")),
    }
}

#[test]
fn a_seed_draws_what_it_has_always_drawn() {
    let kind = |agent, is_spoken_to| Kind { agent, is_spoken_to };
    let kinds = [
        ("program", Kind::PROGRAM),
        ("claude", kind(&agents::CLAUDE, false)),
        ("claude, spoken to", kind(&agents::CLAUDE, true)),
        ("opencode", kind(&agents::OPENCODE, false)),
        ("opencode, spoken to", Kind::OPENCODE_SERVER),
        ("pawwork, spoken to", kind(&agents::PAWWORK, true)),
    ];
    let mut table: BTreeMap<String, [usize; 6]> = BTreeMap::new();
    for ((column, (_, kind)), seed) in kinds.iter().enumerate().zip(1..) {
        let (mut rng, mut counts) = (Rng::new(seed), BTreeMap::new());
        for _ in 0..EACH {
            count("", &serde_json::to_value(rng.scenario(*kind)).unwrap(), &mut counts);
        }
        for (what, number) in counts {
            table.entry(what).or_default()[column] = number;
        }
    }
    let mut out = kinds.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(" | ") + "\n";
    for (what, numbers) in table {
        let _ = writeln!(out, "{what}: {}", numbers.map(|number| number.to_string()).join(" "));
    }
    expect_file!["frequencies.txt"].assert_eq(&out);
}

/// A client that loses a question's event gets no list of questions either, half the time; an event of something that
/// has no list comes alone.
#[test]
fn an_event_that_is_lost_has_a_list_that_is_lost() {
    use crate::{EventDoes, EventFault, Fault, GetFault, PgrepFault};
    let mut rng = Rng::new(1);
    let mut of = |kind: &str| {
        let fault = Fault::Event(EventFault { kind: kind.to_owned(), nth: 1, does: EventDoes::Drop });
        let mut paths: Vec<String> = Vec::new();
        for _ in 0..200 {
            match rng.company(&fault) {
                Some(Fault::Get(GetFault { path, .. })) => paths.push(path),
                other => assert_eq!(other, None),
            }
        }
        let many = paths.len();
        paths.sort_unstable();
        paths.dedup();
        (many, paths.join(" "))
    };
    let (many, paths) = of("question.asked");
    assert!((70..130).contains(&many), "{many}");
    assert_eq!(paths, "/question");
    assert_eq!(of("session.idle").1, "/session/* /session/ses_1/abort /session/ses_1/message* /session/status");
    assert_eq!(of("server.heartbeat"), (0, String::new()));
    let other = Fault::Pgrep(PgrepFault::Unavailable);
    assert!((0..50).all(|_| rng.company(&other).is_none()));
}

#[test]
fn weights_and_limits_of_draws() {
    use super::vocabulary::{LIMITS, SHORT, TEXTS};
    let mut rng = Rng::new(3);
    let mut drawn = [0; 4];
    (0..1_000).for_each(|_| drawn[rng.weighted(&[0, 1, 3, 0])] += 1);
    assert!(drawn[0] == 0 && drawn[3] == 0 && (150..350).contains(&drawn[1]), "{drawn:?}");
    let lengths = |rng: &mut Rng, least, most| {
        let mut all: Vec<usize> = (0..200).map(|_| rng.some(least, most, |_| ()).len()).collect();
        all.sort_unstable();
        all.dedup();
        all
    };
    assert_eq!(
        [lengths(&mut rng, 0, 2), lengths(&mut rng, 2, 4), lengths(&mut rng, 3, 3)],
        [vec![0, 1, 2], vec![2, 3, 4], vec![3]]
    );
    assert_eq!(rng.below(0), 0);
    let ones = (0..900).filter(|_| rng.one_in(3)).count();
    assert!((200..400).contains(&ones), "{ones}");
    let some = (0..400).filter(|_| rng.maybe(&[7]) == Some(7)).count();
    assert!((140..260).contains(&some), "{some}");
    // texts of a search are words that a program looks for, and times are short or near a limit
    assert!((0..100).all(|_| TEXTS.contains(&rng.text().as_str())));
    let spans: Vec<_> = (0..500).map(|_| rng.span()).collect();
    let short = spans.iter().filter(|span| SHORT.contains(span)).count();
    assert!((140..260).contains(&short), "two in five: {short}");
    assert!(spans.iter().all(|span| SHORT.contains(span) || LIMITS.contains(span)));
    let mut any = Rng::new(3).of_anything();
    let texts: Vec<String> = (0..400).map(|_| any.text()).collect();
    let most = texts.iter().map(|text| text.chars().count()).max();
    assert!(most.is_some_and(|most| (8..=12).contains(&most)), "{most:?}");
    let chars = || texts.iter().flat_map(|text| text.chars());
    assert!(chars().any(|c| c == '🦀') && chars().any(|c| c == '~'));
    assert!(chars().all(|c| c == '\n' || c == '\t' || !c.is_control()));
}

#[test]
fn a_source_near_other_limits_has_its_long_times_from_them() {
    use super::vocabulary::SHORT;
    const OTHER: [crate::Span; 2] = [crate::Span::secs(77), crate::Span::secs(78)];
    let mut rng = Rng::new(1).near(&OTHER);
    let spans: Vec<_> = (0..100).map(|_| rng.span()).collect();
    assert!(spans.iter().all(|span| SHORT.contains(span) || OTHER.contains(span)), "{spans:?}");
    assert!(OTHER.iter().all(|limit| spans.contains(limit)), "{spans:?}");
    assert!((0..50).all(|_| OTHER.contains(&rng.near_a_limit())));
    let same = |one: &mut Rng, other: &mut Rng| (0..50).all(|_| one.below(1_000) == other.below(1_000));
    assert!(same(&mut Rng::new(9).near(&OTHER), &mut Rng::new(9)), "limits do not change what is drawn");
    assert!(!same(&mut Rng::new(9), &mut Rng::new(10)), "the seed does");
    assert!(Rng::new(9).of_anything().near(&OTHER).is_of_anything() && !Rng::new(9).near(&OTHER).is_of_anything());
}
