//! `rehang new`: for every agent that can be chosen, what is written is right, hangs with a proof, can be accepted, and is
//! reported in few lines; and `run --last-failed`, which plays what failed in it.
//!
//! Invariant: the first report of a person's first scenario fits on a screen.

use std::path::Path;
use std::process::{Command, Output, Stdio};

/// The most lines of the report on a first scenario.
const LINES: usize = 40;

fn rehang(folder: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rehang"));
    command.env("REHANG_FAKES", env!("CARGO_BIN_EXE_rehang")).env("NO_COLOR", "1").env_remove("CI");
    command.env("REHANG_CACHE", folder.join("cache"));
    command.args(args).current_dir(folder).stdin(Stdio::null()).output().expect("rehang runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn passes(folder: &Path, args: &[&str]) -> String {
    let out = rehang(folder, args);
    assert_eq!(out.status.code(), Some(0), "{args:?}: {}{}", text(&out.stdout), text(&out.stderr));
    text(&out.stdout)
}

/// The agents that the help offers.
fn agents(folder: &Path) -> Vec<String> {
    let refused = text(&rehang(folder, &["new", "x.toml", "--agent", "zzzzzz"]).stderr);
    let all = refused.split("there are ").nth(1).or(refused.split("There are ").nth(1)).unwrap_or_default();
    let all = all.lines().next().unwrap_or_default();
    all.split(", ").map(|word| word.trim_matches(|c| c == '`' || c == '.').to_owned()).collect()
}

#[test]
fn every_agent_s_first_scenario_hangs_and_is_accepted() {
    let folder = tempfile::tempdir().expect("a folder");
    let agents = agents(folder.path());
    assert!(agents.len() >= 6 && agents.contains(&"claude".to_owned()), "{agents:?}");
    let with = agents.iter().map(|agent| (agent.as_str(), vec!["--agent", agent]));
    for (agent, with) in
        with.chain([("acp", vec!["--acp"]), ("app-server", vec!["--app-server"]), ("sdk", vec!["--sdk"])])
    {
        let file = format!("{agent}.toml");
        passes(folder.path(), &[vec!["new", &file], with].concat());
        passes(folder.path(), &["check", &file]);
        let hang = passes(folder.path(), &["run", &file, "--strategy", "none"]);
        assert!(hang.contains("hangs proved: 1 by "), "{agent}: {hang}");
        let first = rehang(folder.path(), &["run", &file, "--stage", "sim"]);
        let said = text(&first.stdout);
        assert_eq!(first.status.code(), Some(1), "a guess about every strategy was right: {said}");
        assert!(said.lines().count() <= LINES, "{agent}: {} lines\n{said}", said.lines().count());
        assert!(said.contains("FAIL ") && said.contains("--accept") && !said.contains(" POST "), "{said}");
        assert!(said.lines().all(|line| line.chars().count() <= 100 || line.contains("rehang ")), "{said}");
        passes(folder.path(), &["run", &file, "--accept"]);
        let whole = passes(folder.path(), &["run", &file, "--stage", "sim"]);
        assert!(whole.lines().count() <= LINES, "{agent}: {whole}");
    }
}

#[test]
fn what_is_there_is_not_overwritten() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("mine.toml"), "mine").expect("a file");
    let out = rehang(folder.path(), &["new", "mine.toml"]);
    assert_eq!(text(&out.stderr), "error: mine.toml exists; name a new file\n");
    assert_eq!(out.status.code(), Some(2));
    assert_eq!(std::fs::read_to_string(folder.path().join("mine.toml")).expect("it is there"), "mine");
}

#[test]
fn what_failed_last_is_played_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let cells = |out: &Output| -> Vec<String> {
        let rows = text(&out.stdout)
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok())
            .collect::<Vec<serde_json::Value>>();
        let name =
            |row: &serde_json::Value| Some(format!("{}::{}", row["scenario"].as_str()?, row["strategy"].as_str()?));
        rows.iter().filter_map(name).collect()
    };
    let last = ["run", "--last-failed", "--stage", "sim", "--format", "json"];
    let none = rehang(folder.path(), &last);
    let said = text(&none.stderr);
    assert!(none.status.code() == Some(2) && said.starts_with("error: no last run is known ("), "{said}");
    passes(folder.path(), &["new", "a.toml"]);
    let run = rehang(
        folder.path(),
        &["run", "a.toml", "--stage", "sim", "--format", "json", "--strategy", "guard", "--strategy", "none"],
    );
    assert_eq!((run.status.code(), cells(&run).len()), (Some(1), 4), "{}", text(&run.stdout));
    let again = rehang(folder.path(), &last);
    assert_eq!(cells(&again), ["a::guard"], "{}{}", text(&again.stdout), text(&again.stderr));
    passes(folder.path(), &["run", "a.toml", "--accept"]);
    passes(folder.path(), &last);
    let whole = rehang(folder.path(), &last);
    assert_eq!(text(&whole.stderr), "nothing failed in the last run: there is nothing to play again\n");
}

#[test]
fn the_readme_shows_what_it_writes() {
    let folder = tempfile::tempdir().expect("a folder");
    passes(folder.path(), &["new", "my-hang.toml"]);
    let written = std::fs::read_to_string(folder.path().join("my-hang.toml")).expect("it was written");
    let readme =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md")).expect("a page");
    assert!(readme.contains(&format!("```toml\n# my-hang.toml\n{written}```\n")), "the README shows another file");
}
