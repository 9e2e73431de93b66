//! `compat.json`: its order, its releases, its limits, and the pages that show it.
//!
//! Invariant: `UPSTREAM.md` and the table of `docs/limits.md` are written from the data, never the other way round:
//! `UPDATE_EXPECT=1 cargo test -p rehang-tests --test docs` writes them.

use rehang_compat::{Compat, Found, Limit, LimitKind, Row};
use rehang_scenario::OutcomeKind;
use rehang_upstream::baseline::compare;
use rehang_upstream::results::{Results, baseline};
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// Where the written part of the page of limits begins.
const TABLE: &str = "## The table\n\n";

#[test]
fn the_page_of_releases_shows_the_data() {
    let due = rehang_upstream::table::markdown(&super::compat().by_cell());
    super::ends_with("UPSTREAM.md", "# Which release hangs where\n", &due);
}

#[test]
fn each_row_is_of_a_release_of_the_list_and_the_file_is_in_its_order() {
    let compat = super::compat();
    let mut sorted = compat.clone();
    sorted.add([]);
    assert!(sorted == compat, "the lists are in no order: `rehang-lab compat` sorts them");
    let lost: Vec<String> = compat
        .rows
        .iter()
        .filter(|row| compat.release(&row.agent, &row.version).is_none())
        .map(|row| format!("{}@{}", row.agent, row.version))
        .collect();
    assert_eq!(lost, [""; 0]);
}

#[test]
fn a_baseline_is_a_compat_json_or_a_results_file_and_a_worse_row_is_a_regression() {
    let dir = tempfile::tempdir().expect("a folder");
    let (json, ndjson) = (dir.path().join("compat.json"), dir.path().join("r.ndjson"));
    let all = super::compat();
    let then = all.rows.iter().find(|row| row.outcome == Some(OutcomeKind::Completed)).expect("a row that completed");
    let hangs = Row { outcome: Some(OutcomeKind::Hung), version: "999.0.0".to_owned(), ..then.clone() };
    std::fs::write(&json, Compat { rows: vec![then.clone()], ..all.clone() }.write().expect("a text"))
        .expect("written");
    Results::open(&ndjson).and_then(|mut file| file.push(then)).expect("written");
    for path in [&json, &ndjson] {
        let before = baseline(path).expect("it is read");
        let worse = |row: &Row| compare([row], &before).iter().filter(|change| change.regression).count();
        assert_eq!((worse(&hangs), worse(then)), (1, 0), "{}", path.display());
    }
    std::fs::copy(&ndjson, &json).expect("copied");
    let error = baseline(&json).expect_err("rows without a frame are no compat.json").to_string();
    assert!(error.contains("compat.json: not in the format of compat.json"), "{error}");
}

#[test]
fn the_schema_has_each_key_of_the_file() {
    let text = std::fs::read_to_string(super::root().join("compat.json")).expect("there is a compat.json");
    let file: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let schema = rehang_compat::schema();
    let keys = |of: &serde_json::Value| of.as_object().expect("an object").keys().cloned().collect::<BTreeSet<_>>();
    assert_eq!(keys(&file), keys(&schema["properties"]));
    for (list, named) in [("rows", "Row"), ("claims", "Claim"), ("releases", "Release"), ("not_tried", "NotTried")] {
        let known = keys(&schema["$defs"][named]["properties"]);
        let used: BTreeSet<String> = file[list].as_array().expect("a list").iter().flat_map(keys).collect();
        assert!(used.is_subset(&known), "{list}: {:?}", used.difference(&known));
    }
}

/// A cell of the table, and its note.
fn cell<'c>(limit: &'c Limit<'_>, notes: &mut Vec<&'c str>) -> String {
    let mut noted = |note: &'c str| {
        let known = notes.iter().position(|known| *known == note);
        known.unwrap_or_else(|| {
            notes.push(note);
            notes.len() - 1
        }) + 1
    };
    let found = match &limit.found {
        Found::After(_) => limit.found.to_string(),
        Found::NoneIn(_) | Found::Deadlock | Found::Loops => format!("**{}**", limit.found),
        Found::Undecided(why) => return format!("undecided ({})", noted(why)),
        Found::NotTried(because) => return format!("– ({})", noted(because)),
    };
    match limit.row.map(|row| (row.runs, row.spread_ms)) {
        Some((2.., Some(0))) | None => found,
        Some((2.., Some(ms))) => format!("{found} ± {ms} ms"),
        Some((2.., None)) => format!("{found}, runs differ"),
        Some(_) => format!("{found}, one run"),
    }
}

/// The releases × limits, and the notes.
fn limits(compat: &Compat) -> String {
    let measured = compat.measured();
    let all: Vec<_> =
        measured.iter().map(|(agent, version)| (*agent, *version, compat.limits(agent, version))).collect();
    let mut notes = Vec::new();
    let mut page = String::from(TABLE);
    let titles: Vec<&str> = LimitKind::ALL.iter().map(|kind| kind.title()).collect();
    writeln!(page, "| release | {} |\n|---|{}", titles.join(" | "), "---|".repeat(titles.len())).expect("a string");
    for (agent, version, limits) in &all {
        let cells: Vec<String> = limits.iter().map(|limit| cell(limit, &mut notes)).collect();
        writeln!(page, "| {agent} {version} | {} |", cells.join(" | ")).expect("a string");
    }
    page.push('\n');
    page.extend(notes.iter().zip(1..).map(|(note, number)| format!("{number}. {}\n", note.replace('\n', " "))));
    page
}

#[test]
fn the_page_of_limits_shows_the_data() {
    super::ends_with("docs/limits.md", TABLE, &limits(&super::compat()));
}

#[test]
fn each_limit_of_a_measured_release_has_a_row_or_a_reason() {
    let compat = super::compat();
    let measured = compat.measured();
    let agents: BTreeSet<&str> = measured.iter().map(|(agent, _)| *agent).collect();
    assert!(agents.len() >= 9, "{agents:?}");
    for (agent, version) in measured {
        for Limit { kind, found, row } in compat.limits(agent, version) {
            let has_reason = compat.not_tried.iter().any(|not| not.agent == agent && not.limit == kind);
            assert!(
                row.is_some() != has_reason,
                "{agent}@{version} {}: {found}: a row, or a reason, not both",
                kind.title()
            );
        }
    }
}

#[test]
fn each_scenario_of_a_limit_exists() {
    for kind in LimitKind::ALL {
        let file = super::root().join(format!("scenarios/upstream/{}.toml", kind.scenario()));
        assert!(file.is_file(), "{}", file.display());
    }
}
