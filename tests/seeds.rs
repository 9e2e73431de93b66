//! `scenarios/SEEDS.md` says where to see each defect and each test of the five systems: this keeps it true.
//!
//! Each row names a cell, which is played on sim and must end as the row says, or a test that must exist.

use rehang_judge::Row;
use rehang_runner::kernel::kernel;
use rehang_runner::select::Selection;
use rehang_runner::unit::run;
use rehang_scenario::{Expect, Expected, Invariant, OutcomeKind, Span, Stage};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Where to see something, and how it plays.
#[derive(Debug)]
struct Shown {
    line: usize,
    place: String,
    plays: String,
}

/// The rows of the tables: what, where, how it plays.
fn table() -> Vec<Shown> {
    let text = std::fs::read_to_string(repository().join("scenarios/SEEDS.md")).expect("the table can be read");
    let mut rows = Vec::new();
    for (line, row) in text.lines().enumerate().filter(|(_, line)| line.starts_with("| ")) {
        let columns: Vec<&str> = row.trim_matches('|').split(" | ").map(str::trim).collect();
        let [_, _, place, plays] = columns.as_slice() else { panic!("line {}: {} columns", line + 1, columns.len()) };
        if *place != "where" {
            let place = place.trim_matches('`').to_owned();
            rows.push(Shown { line: line + 1, place, plays: (*plays).to_owned() });
        }
    }
    rows
}

fn is_test(shown: &Shown) -> bool {
    shown.place.contains(".rs::")
}

/// How a row of the matrix is written in the table: `stopped idle after 10m1s; breaks harm, left-behind`.
fn plays(row: &Row) -> String {
    let detail = match row.outcome {
        OutcomeKind::Stopped => row.cause.as_deref(),
        OutcomeKind::Hung => row.blocked_on.map(|on| on.word()),
        _ => None,
    };
    let outcome = detail.map_or(row.outcome.to_string(), |detail| format!("{} {detail}", row.outcome));
    let outcome = match row.outcome {
        OutcomeKind::Stopped | OutcomeKind::Failed => format!("{outcome} after {}", Span(row.virtual_ms)),
        _ => outcome,
    };
    match row.broken.is_empty() {
        true => outcome,
        false => format!("{outcome}; breaks {}", Invariant::names(&row.broken)),
    }
}

/// Writes the results of the cells into the last column.
fn rewrite(rows: &[Shown], played: &BTreeMap<String, String>) {
    let path = repository().join("scenarios/SEEDS.md");
    let text = std::fs::read_to_string(&path).expect("the table can be read");
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for shown in rows {
        let Some((line, plays)) = lines.get_mut(shown.line - 1).zip(played.get(&shown.place)) else { continue };
        let head = line.rsplit(" | ").next().map_or(line.len(), str::len);
        line.truncate(line.len() - head);
        line.push_str(&format!("{plays} |"));
    }
    std::fs::write(path, lines.join("\n") + "\n").expect("the table can be written");
}

#[test]
fn every_cell_that_is_named_plays_as_it_is_said() {
    let rows: Vec<Shown> = table().into_iter().filter(|shown| !is_test(shown)).collect();
    let filter = rows.iter().map(|shown| shown.place.clone()).collect();
    let select = Selection { filter, exact: true, ..Selection::default() };
    let selected = select.select(&[Stage::Sim]).expect("the scenarios can be read");
    assert_eq!(selected.problems, []);
    let mut played = BTreeMap::new();
    for unit in &selected.units {
        for cell in run(unit, &mut |stage| kernel(stage, Path::new(""))).cells {
            played.insert(cell.id.clone(), cell.row.as_ref().map_or(format!("{:?}", cell.fault), plays));
        }
    }
    let wrong = |shown: &Shown| match played.get(&shown.place) {
        None => Some(format!("SEEDS.md:{}: there is no cell {}", shown.line, shown.place)),
        Some(played) if *played != shown.plays => {
            Some(format!("SEEDS.md:{}: {} plays as `{played}`, not `{}`", shown.line, shown.place, shown.plays))
        }
        Some(_) => None,
    };
    let wrong: Vec<String> = rows.iter().filter_map(wrong).collect();
    if !wrong.is_empty() && std::env::var_os("UPDATE_EXPECT").is_some() {
        rewrite(&rows, &played);
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    assert!(rows.len() > 150, "the table has only {} rows with a cell", rows.len());
}

#[test]
fn every_test_that_is_named_is_there() {
    for shown in table().iter().filter(|shown| is_test(shown)) {
        let (file, name) = shown.place.split_once("::").expect("a file and a function");
        let text = std::fs::read_to_string(repository().join(file))
            .unwrap_or_else(|error| panic!("SEEDS.md:{}: {file}: {error}", shown.line));
        assert!(text.contains(&format!("fn {name}(")), "SEEDS.md:{}: {file} has no test `{name}`", shown.line);
        assert_eq!(shown.plays, "passes", "SEEDS.md:{}", shown.line);
    }
}

#[test]
fn every_rule_of_an_end_says_within_what_time() {
    let folder = repository().join("scenarios");
    let paths = rehang_runner::corpus::paths(&folder).expect("the scenarios can be read");
    let corpus = rehang_runner::corpus::Corpus::read(&paths);
    let mut without = Vec::new();
    // on the wall clock of a real release, times vary
    for family in corpus.families.iter().filter(|family| !family.name.starts_with("upstream/")) {
        let ends = |rule: &&Expect| matches!(rule.outcome, Expected::Stopped(_) | Expected::Failed);
        let rules = family.variants.iter().flat_map(|variant| &variant.scenario.expect).filter(ends);
        if rules.clone().any(|rule| rule.within.is_none()) {
            without.push(family.name.clone());
        }
    }
    assert_eq!(without, [""; 0], "a rule that stops or fails a run has a `within`");
}
