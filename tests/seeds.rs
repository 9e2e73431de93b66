//! `scenarios/SEEDS.md` says where to see each defect and each test of the five systems: it must not rot.
//!
//! Each row names a cell, which is played on sim and must come out as the row says, or a test that must be there.

use rehang_judge::Row;
use rehang_runner::kernel::kernel;
use rehang_runner::select::Selection;
use rehang_runner::unit::run;
use rehang_scenario::Stage;
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

/// How a row of the matrix is written in the table: `stopped idle; breaks harm, left-behind`.
fn plays(row: &Row) -> String {
    let detail = match row.outcome.as_str() {
        "stopped" => row.cause.as_deref(),
        "hung" => row.blocked_on.as_deref(),
        _ => None,
    };
    let outcome = detail.map_or(row.outcome.clone(), |detail| format!("{} {detail}", row.outcome));
    match row.broken.is_empty() {
        true => outcome,
        false => format!("{outcome}; breaks {}", row.broken.join(", ")),
    }
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
