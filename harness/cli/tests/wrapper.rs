//! `rehang wrapper` with wrappers of a few words: one that waits for ever, one that lies, one that kills, one that is good.
//!
//! Invariant: scores and exit codes are asserted. The wrappers' own limits are seconds, the fakes' clock runs a thousand
//! times as fast as theirs: no machine is so slow that a healthy run meets them.

use std::process::{Command, Output};

fn rehang(args: &[&str], wrapper: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rehang"));
    command.arg("wrapper").args(args).args(["--name", "ours", "--", "sh", "-c", wrapper]);
    // the fakes that are part of it: those beside it may be of another build
    command.env("REHANG_FAKES", env!("CARGO_BIN_EXE_rehang"));
    command.current_dir(env!("CARGO_MANIFEST_DIR")).output().expect("rehang runs")
}

/// The score of each cell, by its name.
fn scores(out: &Output) -> Vec<(String, String)> {
    let text = String::from_utf8_lossy(&out.stdout);
    let rows = text.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    let of = |row: &serde_json::Value, key: &str| row[key].as_str().map(str::to_owned);
    rows.filter_map(|row| Some((format!("{}::{}", of(&row, "scenario")?, of(&row, "terminal")?), of(&row, "score")?)))
        .collect()
}

const JSON: [&str; 2] = ["--format", "json"];
const OPEN_PIPE: &str = "stdin/open-pipe[2.0.77]";

fn open_pipe(more: &[&'static str], wrapper: &str) -> (Vec<(String, String)>, Option<i32>) {
    let args: Vec<&str> = [OPEN_PIPE, "--speed", "1000"].iter().chain(&JSON).chain(more).copied().collect();
    let out = rehang(&args, wrapper);
    (scores(&out), out.status.code())
}

fn score<'a>(of: &'a [(String, String)], name: &str) -> &'a str {
    of.iter().find(|(cell, _)| cell == name).map_or("", |(_, score)| score)
}

#[test]
fn one_that_waits_for_ever_misses_the_hang() {
    let (scores, code) =
        open_pipe(&["--deadline", "3s", "--terminal", "pipe", "--terminal", "null"], "exec claude -p go");
    assert_eq!(score(&scores, "stdin/open-pipe[2.0.77]::pipe"), "missed", "{scores:?}");
    assert_eq!(score(&scores, "stdin/open-pipe[2.0.77]::null"), "untouched", "{scores:?}");
    assert_eq!(code, Some(3));
}

#[test]
fn one_that_ends_it_and_says_so_tells_the_truth() {
    let (scores, code) = open_pipe(&["--terminal", "pipe"], "timeout 2 claude -p go");
    assert_eq!((score(&scores, "stdin/open-pipe[2.0.77]::pipe"), code), ("stopped", Some(0)), "{scores:?}");
}

#[test]
fn one_that_ends_it_and_says_that_all_went_well_lies() {
    let (scores, code) = open_pipe(&["--terminal", "pipe"], "timeout 2 claude -p go; true");
    assert_eq!((score(&scores, "stdin/open-pipe[2.0.77]::pipe"), code), ("wrongly", Some(1)), "{scores:?}");
}

#[test]
fn one_that_gives_its_agent_no_stdin_resolves_what_waits_for_one() {
    let (scores, code) = open_pipe(&["--terminal", "pipe"], "claude -p go </dev/null");
    assert_eq!((score(&scores, "stdin/open-pipe[2.0.77]::pipe"), code), ("resolved", Some(0)), "{scores:?}");
    // if stdin does not matter, one terminal is enough
    let out = rehang(&["benign/text", "--format", "json"], "claude -p go </dev/null");
    let scores = self::scores(&out);
    assert!(scores.len() == 1 && scores[0].1 == "untouched" && out.status.success(), "{scores:?}");
}

#[test]
fn one_that_fails_a_healthy_run_harms() {
    let out = rehang(&["benign/text", "--terminal", "null", "--format", "json"], "claude -p go | grep -q scripted");
    let scores = scores(&out);
    assert!(!scores.is_empty() && scores.iter().all(|(_, score)| score == "harmed"), "{scores:?}");
    assert_eq!(out.status.code(), Some(1));
}

#[test]
fn what_it_leaves_is_told() {
    let wrapper = "setsid sleep 1000 >/dev/null 2>&1 & claude -p go";
    let out = rehang(&["benign/text", "--terminal", "null"], wrapper);
    assert!(String::from_utf8_lossy(&out.stdout).contains("left-behind"), "{}", String::from_utf8_lossy(&out.stdout));
}

#[test]
fn one_that_starts_no_agent_is_no_wrapper() {
    let out = rehang(&["benign/text"], "echo no agent here");
    let said = String::from_utf8_lossy(&out.stderr).into_owned();
    assert!(
        out.status.code() == Some(2) && said.contains("started none of") && said.contains("no agent here"),
        "{said}"
    );
    let out = rehang(&["benign/text"], "claude -p go; exit 4");
    let said = String::from_utf8_lossy(&out.stderr).into_owned();
    assert!(out.status.code() == Some(2) && said.contains("ends with 4"), "{said}");
}

#[test]
fn outside_of_a_repository_the_scenarios_are_those_inside_the_binary_and_a_broken_file_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let list = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_rehang"));
        command.args(["wrapper", "--list", "--terminal", "pipe"]).args(args).args(["--", "sh", "-c", "claude -p go"]);
        command.env("REHANG_FAKES", env!("CARGO_BIN_EXE_rehang")).current_dir(&folder).output().expect("rehang runs")
    };
    let out = list(&["claude/"]);
    assert_eq!(out.status.code(), Some(0), "{}", String::from_utf8_lossy(&out.stderr));
    assert!(out.stdout.windows(7).any(|part| part == b"claude/"), "{}", String::from_utf8_lossy(&out.stdout));

    std::fs::write(folder.path().join("broken.toml"), "title = \"A typo\"\nmechansim = \"S1\"\n").expect("a file");
    let out = list(&["--scenarios", "broken.toml"]);
    assert!(String::from_utf8_lossy(&out.stderr).contains("mechansim"), "{}", String::from_utf8_lossy(&out.stderr));
    assert_eq!(out.status.code(), Some(2));
}
