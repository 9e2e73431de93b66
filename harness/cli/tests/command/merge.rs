//! `rehang merge`: the rows of several runs as those of one.
//!
//! Invariant: parts say together what one run says, and what is missing, cut or contradictory is an error instead of a
//! smaller success.

use std::path::Path;
use std::process::{Command, Stdio};

/// A server that asks, in two releases, and nobody is there.
const ASKS: &str = r#"
title     = "Asks which database, and nobody is there"
mechanism = "Q1"
agent     = { opencode = { as = "1.2.15", mode = "serve" } }
terminals = ["null"]
turns     = [{ ask = [{ question = "Which database?", options = [{ label = "sqlite" }, { label = "postgres" }] }] }]

[[expect]]
strategies = ["none"]
outcome    = { hung = "question" }

[[expect]]
outcome    = "as none"

[control]
people = [{ via = "http", after = "2s", does = { answer = ["sqlite"] } }]
"#;

/// Prints and ends.
const HEALTHY: &str = r#"
title = "Prints and ends"
mechanism = "F1"
agent = { program = [{ print = "hello" }] }
terminals = ["null", "pipe"]
seeds = [1, 2]

[[expect]]
outcome = "completed"
"#;

struct Said {
    code: Option<i32>,
    out: String,
    err: String,
}

fn rehang(folder: &Path, args: &[&str]) -> Said {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rehang"));
    command.env("REHANG_FAKES", env!("CARGO_BIN_EXE_rehang")).env("NO_COLOR", "1").env_remove("CI");
    let out = command.args(args).current_dir(folder).stdin(Stdio::null()).output().expect("rehang runs");
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Said { code: out.status.code(), out: text(out.stdout), err: text(out.stderr) }
}

/// A folder with two scenario files, and a third with errors if that is wanted.
fn folder(with_errors: bool) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("asks.toml"), ASKS).expect("a file");
    std::fs::write(folder.path().join("healthy.toml"), HEALTHY).expect("a file");
    if with_errors {
        std::fs::write(folder.path().join("bad.toml"), "titel = 1\n").expect("a file");
    }
    folder
}

/// Runs with these arguments, and keeps the rows in a file of this name.
fn rows(folder: &Path, name: &str, args: &[&str]) -> Said {
    let said = rehang(folder, &[&["run", "--scenarios", ".", "--format", "json"], args].concat());
    std::fs::write(folder.join(name), &said.out).expect("a file");
    said
}

/// The text without the time that a run took.
fn timeless(text: &str) -> String {
    let cut = |line: &str| {
        let time = [" one trace each in ", " on sim in "].into_iter().find_map(|words| line.find(words));
        line[..time.unwrap_or(line.len())].to_owned()
    };
    text.lines().map(cut).collect::<Vec<_>>().join("\n")
}

/// What JSON says of cells and summary, without how long they took.
fn values(text: &str) -> Vec<serde_json::Value> {
    let value = |line: &str| {
        let mut value: serde_json::Value = serde_json::from_str(line).expect("an object");
        let (object, time) = match value.get_mut("summary") {
            Some(summary) => (summary, "wall_ms"),
            None => (&mut value, "wall_us"),
        };
        object.as_object_mut().expect("an object").remove(time).expect("it says how long it took");
        value
    };
    text.lines().map(value).collect()
}

#[test]
fn the_parts_say_together_what_one_run_says() {
    for (with_errors, stage, code) in [(false, "sim", 1), (true, "both", 2)] {
        let folder = folder(with_errors);
        let at = folder.path();
        let human = rehang(at, &["run", "--scenarios", ".", "--stage", stage, "--report", "whole"]);
        let json = rows(at, "whole.ndjson", &["--stage", stage]);
        for part in ["1", "2", "3"] {
            let shard = format!("{part}/3");
            let said = rows(at, &format!("{part}.ndjson"), &["--stage", stage, "--shard", &shard, "--traces", "t"]);
            assert!(said.out.lines().count() > 2, "part {part} has no cells: {}", said.out);
        }
        let merged = |args: &[&str]| rehang(at, &[&["merge", "3.ndjson", "1.ndjson", "2.ndjson"], args].concat());
        assert_eq!(values(&merged(&["--format", "json"]).out), values(&json.out));
        let said = merged(&["--traces", "t", "--report", "r", "--summary", "s.md"]);
        assert_eq!(timeless(&said.out), timeless(&human.out), "{}", said.err);
        assert_eq!((said.code, human.code), (Some(code), Some(code)));
        let entries = |report: &str| {
            let page = std::fs::read_to_string(at.join(report).join("index.html")).expect("a report");
            let after = page.split("id=\"entries\"").nth(1).expect("a list of the cells").to_owned();
            after.split("</script>").next().unwrap_or_default().to_owned()
        };
        assert!(entries("r").len() > 1_000 && entries("r") == entries("whole"), "other cells: {}", entries("r"));
        let summary = std::fs::read_to_string(at.join("s.md")).expect("a summary");
        assert!(summary.contains(" cells NOT as expected"), "{summary}");
    }
}

#[test]
fn a_failure_without_its_trace_is_named_all_the_same() {
    let folder = folder(false);
    rows(folder.path(), "all.ndjson", &["--stage", "sim"]);
    let said = rehang(folder.path(), &["merge", "all.ndjson", "--report", "r"]);
    assert!(said.out.contains("again: rehang show --scenarios . --stage sim 'asks::auto-answer"), "{}", said.out);
    let page = std::fs::read_to_string(folder.path().join("r/index.html")).expect("a report");
    assert!(page.contains("<li><code>asks::"), "the page is silent about it");
}

#[test]
fn a_cell_of_several_files_counts_once_and_both_stages_are_compared() {
    let folder = folder(false);
    let at = folder.path();
    let summary = |files: &[&str]| {
        let said = rehang(at, &[&["merge", "--format", "json"], files].concat());
        let last = said.out.lines().last().unwrap_or_else(|| panic!("{}", said.err)).to_owned();
        let value: serde_json::Value = serde_json::from_str(&last).expect("an object");
        (said.code, value["summary"].clone())
    };
    let sim = rows(at, "sim.ndjson", &["--stage", "sim"]).out;
    let lockstep = rows(at, "lockstep.ndjson", &["--stage", "lockstep"]).out;
    let count = sim.lines().count() - 1;
    for (files, cells) in
        [(vec!["sim.ndjson", "sim.ndjson"], count), (vec!["sim.ndjson", "lockstep.ndjson"], 2 * count)]
    {
        let (_, summary) = summary(&files);
        assert_eq!((&summary["cells"], &summary["nondeterministic"]), (&cells.into(), &0.into()), "{files:?}");
        assert_eq!((&summary["selected"], &summary["scenarios"]), (&count.into(), &2.into()), "{files:?}");
    }
    // another trace on the other stage is not a contradiction, it is what the stages are compared for
    let first = lockstep.lines().next().expect("a row");
    let hash = first.split("\"trace_sha256\":\"").nth(1).and_then(|rest| rest.split('"').next()).expect("a hash");
    std::fs::write(at.join("other.ndjson"), lockstep.replacen(hash, &"0".repeat(64), 1)).expect("a file");
    let (code, summary) = summary(&["sim.ndjson", "other.ndjson"]);
    assert_eq!((code, &summary["nondeterministic"]), (Some(4), &1.into()));
}

#[test]
fn what_does_not_make_one_run_is_refused_with_its_places() {
    let folder = folder(false);
    let at = folder.path();
    let args = ["--stage", "sim", "--strategy", "none", "--strategy", "wall"];
    let all = rows(at, "all.ndjson", &args).out;
    for part in ["1", "2", "3"] {
        rows(at, &format!("{part}.ndjson"), &[&args[..], &["--shard", &format!("{part}/3")]].concat());
    }
    let lines: Vec<&str> = all.lines().collect();
    let hash = |line: &str| line.split("\"trace_sha256\":\"").nth(1).expect("a hash")[..64].to_owned();
    let with = |at: usize, line: &str| {
        let changed = lines.iter().enumerate().map(|(n, old)| if n == at { line } else { old });
        changed.map(|line| format!("{line}\n")).collect::<String>()
    };
    let files = [
        ("hash.ndjson", with(1, &lines[1].replace(&hash(lines[1]), &"0".repeat(64)))),
        ("said.ndjson", with(2, &lines[2].replace("\"rejected\":0", "\"rejected\":1"))),
        ("cut.ndjson", lines[..2].join("\n")),
        ("short.ndjson", lines[1..].join("\n")),
        ("text.ndjson", "hello\n".to_owned()),
        ("old.ndjson", with(0, "{\"scenario\":\"a\",\"strategy\":\"none\"}")),
        ("long.ndjson", with(1, &"x".repeat(2 << 20))),
        ("name.ndjson", with(0, &lines[0].replacen("\"scenario\":\"", "\"scenario\":\"\\u001b[31m", 1))),
        ("part.ndjson", all.replace("\"part\":[1,1]", "\"part\":[1,18446744073709551615]")),
        ("empty.ndjson", String::new()),
        ("sum.ndjson", with(0, &lines[0].replace("\"without_ms\":", "\"without_ms\":99999999"))),
    ];
    for (name, text) in &files {
        std::fs::write(at.join(name), text).expect("a file");
    }
    let last = format!("line {}", lines.len());
    for (args, words) in [
        (vec!["all.ndjson", "hash.ndjson"], vec!["all.ndjson:2 and hash.ndjson:2 contradict", "the traces are"]),
        (vec!["all.ndjson", "said.ndjson"], vec!["all.ndjson:3 and said.ndjson:3", "what is said of it is not"]),
        (vec!["1.ndjson", "3.ndjson"], vec!["part 2/3 is missing", "1.ndjson", "--shard 2/3"]),
        (vec!["2.ndjson"], vec!["the parts 1/3, 3/3 are missing"]),
        (vec!["cut.ndjson"], vec!["cut.ndjson: it ends after line 2 without a `summary`"]),
        (vec!["short.ndjson"], vec!["short.ndjson: the `summary` on line", "run it again"]),
        (vec!["text.ndjson"], vec!["text.ndjson: line 1 is no row"]),
        (vec!["old.ndjson"], vec!["old.ndjson: line 1 is no row", "of this version", "missing field"]),
        (vec!["long.ndjson"], vec!["long.ndjson: line 2 has more than 1048576 bytes"]),
        (vec!["name.ndjson"], vec!["name.ndjson: line 1 is no row", "a control character in the name `\\e[31m"]),
        (vec!["part.ndjson"], vec!["part.ndjson: ", &last, "at most 10000"]),
        (vec!["empty.ndjson"], vec!["empty.ndjson: it is empty"]),
        (vec!["sum.ndjson"], vec!["sum.ndjson: line 1 is no row", "a number is above"]),
        (vec!["nothing.ndjson"], vec!["nothing.ndjson: No such file"]),
        (vec!["all.ndjson", "--traces", "nowhere"], vec!["nowhere: No such file"]),
    ] {
        let said = rehang(at, &[&["merge"], &args[..]].concat());
        assert_eq!((said.code, said.out.as_str()), (Some(2), ""), "{args:?}: {}", said.err);
        for word in words {
            assert!(said.err.contains(word), "{args:?}: {}", said.err);
        }
    }
    // all parts, whatever their order, and a part twice, are one run
    let said = rehang(at, &["merge", "3.ndjson", "1.ndjson", "2.ndjson", "1.ndjson"]);
    assert!(
        said.err.is_empty() && said.out.contains(&format!("{} cells", lines.len() - 1)),
        "{}{}",
        said.out,
        said.err
    );
}
