//! What `rehang run` says of a run, in each of its forms, and whether what it says can be done.
//!
//! Invariant: a form that looks green is a run that was as expected, all files of it.

use std::path::Path;
use std::process::{Command, Output, Stdio};

/// Asks, and nobody is there. The file says that every strategy leaves the hang alone, which is wrong for many.
const HANGS: &str = r#"
title     = "Asks which database, and nobody is there"
mechanism = "Q1"
agent     = { opencode = { as = "1.2.15", mode = "serve" } }
terminals = ["null"]

turns = [
  { say = "I found two databases." },
  { ask = [{ question = "Which database?", options = [{ label = "sqlite" }, { label = "postgres" }] }] },
  { say = "Done: {answer}." },
]

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
terminals = ["null"]

[[expect]]
outcome = "completed"
"#;

/// Says so much that it is given up: neither its end nor a hang is shown.
fn endless(outcome: &str) -> String {
    let print = "x".repeat(100_000);
    format!(
        "title = \"Says without end\"\nmechanism = \"F8\"\nterminals = [\"null\"]\n\
         agent = {{ program = [{{ every = {{ every = \"1s\", times = 10000, print = \"{print}\" }} }}] }}\n\n\
         [[expect]]\noutcome = \"{outcome}\"\n"
    )
}

fn command(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rehang"));
    command.env("REHANG_FAKES", env!("CARGO_BIN_EXE_rehang")).env("NO_COLOR", "1").env_remove("CI");
    // a report is remembered there
    command.env("REHANG_CACHE", folder.join("cache"));
    command.args(args).current_dir(folder).stdin(Stdio::null());
    command
}

fn rehang(folder: &Path, args: &[&str]) -> Output {
    command(folder, args).output().expect("rehang runs")
}

/// A folder with these files; cells are named by the files.
fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in files {
        std::fs::write(folder.path().join(name), text).expect("a file");
    }
    folder
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn each_failure_has_its_reason_and_a_command_that_shows_it() {
    let folder = folder(&[("my hang.toml", HANGS)]);
    let named = ["--strategy", "watcher@pr5(misses=3)"];
    for more in [&[][..], &named] {
        let args = [&["run", "--stage", "sim", "--scenarios", "my hang.toml"], more].concat();
        let out = rehang(folder.path(), &args);
        let said = text(&out.stdout);
        let failures: Vec<&str> = said.lines().filter(|line| line.starts_with("FAIL ")).collect();
        let again: Vec<&str> = said.lines().filter_map(|line| line.trim_start().strip_prefix("again: ")).collect();
        assert!(!failures.is_empty() && failures.iter().all(|line| line.contains(": expected ")), "{said}");
        assert_eq!((again.len(), said.contains(" more (`--format json` has all)")), (1, more.is_empty()), "{said}");
        assert!(said.lines().all(|line| line.chars().count() <= 100 || line.contains("rehang ")), "{said}");
        for line in again {
            let mut shell = Command::new("sh");
            let line = line.replacen("rehang", env!("CARGO_BIN_EXE_rehang"), 1);
            shell.args(["-c", &line]).current_dir(folder.path()).env("NO_COLOR", "1").stdin(Stdio::null());
            let shown = shell.output().expect("a shell");
            let (stdout, stderr) = (text(&shown.stdout), text(&shown.stderr));
            assert_eq!(shown.status.code(), Some(1), "{line}: {stdout}{stderr}");
            assert!(stdout.contains("NOT as expected"), "{line}: {stdout}");
        }
    }
    rehang(folder.path(), &["run", "--stage", "sim", "--scenarios", "my hang.toml", "--report", "r", "Q1"]);
    let page = std::fs::read_to_string(folder.path().join("r/index.html")).expect("a report");
    assert!(page.contains("data-reading=\" --scenarios 'my hang.toml'\""), "its commands read another file");
}

/// The first scenario of the README.
fn of_the_readme() -> String {
    let readme = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md")).unwrap();
    let code = readme.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next());
    code.expect("the README has a scenario").to_owned()
}

#[test]
fn the_readme_s_commands_do_what_it_says() {
    let folder = folder(&[("my-hang.toml", &of_the_readme())]);
    let runs = |args: &[&str]| {
        let ran = rehang(folder.path(), args);
        assert_eq!(ran.status.code(), Some(0), "{args:?}: {}{}", text(&ran.stdout), text(&ran.stderr));
        text(&ran.stdout)
    };
    runs(&["check", "my-hang.toml"]);
    runs(&["new", "another-hang.toml"]);
    runs(&["run", "my-hang.toml", "--strategy", "none"]);
    runs(&["run", "my-hang.toml", "--accept"]);
    // what was accepted is what every strategy does
    assert!(std::fs::read_to_string(folder.path().join("my-hang.toml")).unwrap().contains("\"guard\""));
    runs(&["run", "my-hang.toml"]);
}

#[test]
fn a_file_and_a_folder_are_named_by_their_paths() {
    let folder = folder(&[("one.toml", HEALTHY), ("two.toml", HEALTHY)]);
    let cells = |word: &str| text(&rehang(folder.path(), &["list", word]).stdout).lines().count();
    assert!(cells("one.toml") > 0 && cells("./") == 2 * cells("one.toml"), "{} {}", cells("one.toml"), cells("./"));
    let missing = rehang(folder.path(), &["run", "three.toml"]);
    let said = text(&missing.stderr);
    assert!(missing.status.code() == Some(2) && said.starts_with("error: three.toml: No such file"), "{said}");
}

#[test]
fn a_cell_that_is_not_there_is_named_with_what_there_is() {
    let folder = folder(&[("my-hang.toml", HANGS)]);
    let show = |args: &[&str]| text(&rehang(folder.path(), &[&["show", "--stage", "sim"], args].concat()).stderr);
    let own = show(&["--scenarios", "my-hang.toml", "other::none::null::1"]);
    let what = "no cell matches 'other::none::null::1'; `rehang list --scenarios my-hang.toml` names all there are, in 1 file (1 scenario)";
    assert!(own.contains(what) && !own.contains("of your own"), "{own}");
    assert!(show(&["my-hang::none::null::1"]).contains("of a scenario file of your own, say `--scenarios FILE`"));
    let trace = rehang(
        folder.path(),
        &["show", "--stage", "sim", "--trace", "--scenarios", "my-hang.toml", "my-hang::none::null::1"],
    );
    std::fs::write(folder.path().join("t.ndjson"), trace.stdout).expect("a file");
    let error = text(&rehang(folder.path(), &["show", "--replay", "t.ndjson"]).stderr);
    assert!(error.contains("'my-hang::none::null::1'") && error.contains("--scenarios FILE"), "{error}");
}

#[test]
fn a_bad_file_is_in_every_form_of_the_report() {
    let folder = folder(&[("good.toml", HEALTHY), ("bad.toml", "titel = 1\n")]);
    let run = |format: &str| {
        let args = ["--scenarios", ".", "--strategy", "none", "--summary", "s.md", "--report", "r"];
        let out = rehang(folder.path(), &[&["run", "--stage", "sim", "--format", format], &args[..]].concat());
        assert_eq!(out.status.code(), Some(2), "{}", text(&out.stderr));
        text(&out.stdout)
    };
    let json = run("json");
    let last: serde_json::Value =
        serde_json::from_str(json.lines().last().expect("a summary")).expect("an object a line");
    assert_eq!(last["summary"]["bad_files"][0]["file"], "./bad.toml", "{last}");
    assert!(last["summary"]["bad_files"][0]["errors"][0].as_str().is_some_and(|e| e.starts_with("line 1: ")), "{last}");
    let junit = run("junit");
    assert!(junit.contains("errors=\"1\"") && junit.contains("<testcase name=\"./bad.toml\""), "{junit}");
    assert!(run("human").contains("1 file has errors"));
    let summary = std::fs::read_to_string(folder.path().join("s.md")).expect("a summary");
    assert!(summary.starts_with("### rehang: 1 FILE HAS ERRORS; "), "{summary}");
    assert!(summary.contains("- `./bad.toml`: `line 1: "), "{summary}");
    let page = std::fs::read_to_string(folder.path().join("r/index.html")).expect("a report");
    assert!(page.contains("; 1 more file with errors"), "the page is silent about it");
    assert!(page.contains("<li><code>./bad.toml</code>: line 1: "), "the page does not name it");
}

#[test]
fn what_cannot_be_written_is_named_and_costs_no_run() {
    let folder = folder(&[("good.toml", HEALTHY)]);
    let run = |args: &[&str]| {
        let out = rehang(
            folder.path(),
            &[&["run", "--stage", "sim", "--scenarios", ".", "--strategy", "none"], args].concat(),
        );
        assert_eq!(out.status.code(), Some(2), "{args:?}");
        (text(&out.stdout), text(&out.stderr))
    };
    for flag in ["--summary", "--report", "--traces"] {
        let (said, error) = run(&[flag, "/proc/x"]);
        assert!(said.is_empty(), "it was tried after the run: {said}");
        assert!(error.contains("/proc/x cannot be written: "), "{error}");
    }
    // can be opened, and cannot be written
    let (said, error) = run(&["--summary", "/dev/full"]);
    assert!(said.contains("1 passed, 0 failed"), "{said}");
    assert!(error.contains("/dev/full cannot be written: "), "{error}");
}

#[test]
fn a_reader_that_stops_reading_changes_no_exit_code() {
    let folder = folder(&[("wrong.toml", &HEALTHY.replace("completed", "failed"))]);
    for format in ["human", "json", "junit"] {
        let mut run = command(folder.path(), &["run", "--stage", "sim", "--scenarios", ".", "--format", format]);
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let out = run.stdout(writer).stderr(Stdio::piped()).output().expect("rehang runs");
        assert_eq!((out.status.code(), text(&out.stderr).as_str()), (Some(1), ""), "{format}");
    }
}

#[test]
fn what_cannot_be_read_or_told_apart_hides_no_other_file() {
    let folder = tempfile::tempdir().unwrap();
    let good = "title = \"T\"\nmechanism = \"F8\"\nagent = { program = [{ print = \"x\" }] }\nterminals = [\"null\"]\n\n[[expect]]\noutcome = \"completed\"\n";
    for place in ["one/scenarios/a.toml", "two/scenarios/a.toml", "two/scenarios/b.toml"] {
        let path = folder.path().join(place);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, good).unwrap();
    }
    std::os::unix::fs::symlink("nowhere", folder.path().join("two/scenarios/c.toml")).unwrap();
    let check = |paths: &[&str]| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_rehang"));
        let out = command.arg("check").args(paths).current_dir(&folder).output().unwrap();
        (String::from_utf8_lossy(&out.stdout).into_owned(), out.status.code())
    };
    let (said, code) = check(&["one", "two"]);
    assert!(
        said.contains("error: two/scenarios/a.toml: its cells are called `a`, as those of one/scenarios/a.toml are"),
        "{said}"
    );
    assert!(said.contains("3 files: 2 right (2 scenarios), 1 with errors"), "{said}");
    assert_eq!(code, Some(2));
    let (said, code) = check(&["one", "one/scenarios/a.toml"]);
    assert!(said.contains("1 right"), "{said}");
    assert_eq!(code, Some(0));
}

#[test]
fn what_is_undecided_is_no_hang() {
    let run = |outcome: &str, format: &str| {
        let files = folder(&[("endless.toml", &endless(outcome))]);
        let args = ["run", "--scenarios", ".", "--strategy", "none", "--stage", "sim", "--format", format];
        let out = rehang(files.path(), &args);
        (out.status.code(), String::from_utf8_lossy(&out.stdout).into_owned())
    };
    // each takes seconds, side by side
    let [expected, human, row, junit] = std::thread::scope(|scope| {
        let runs = [("undecided", "human"), ("completed", "human"), ("undecided", "json"), ("completed", "junit")];
        let started = runs.map(|(outcome, format)| scope.spawn(move || run(outcome, format)));
        started.map(|run| run.join().expect("it runs"))
    });
    assert_eq!(expected.0, Some(0), "it is expected");
    let (code, human) = human;
    assert_eq!(code, Some(1), "a hang that nobody expected were 3");
    for text in [
        "expected completed, got undecided: what it says fills more than 128 MiB",
        "undecided, neither an end nor a proof of a hang: 1",
        "undecided none",
    ] {
        assert!(human.contains(text), "{text}\n{human}");
    }
    assert!(!human.contains("hangs proved"), "{human}");
    let row: serde_json::Value = serde_json::from_str(row.1.lines().next().expect("a row")).expect("JSON");
    let is = ["outcome", "proof", "blocked_on", "expected"].map(|key| row[key].clone());
    assert_eq!(is, ["undecided".into(), serde_json::Value::Null, serde_json::Value::Null, true.into()]);
    let (code, junit) = junit;
    assert!(code == Some(1) && junit.contains("got undecided"), "{code:?}");
}

#[test]
fn the_last_report_is_found_without_its_name() {
    let folder = folder(&[("healthy.toml", HEALTHY)]);
    let cache = folder.path().join("cache");
    let said = |args: &[&str]| {
        let mut command = command(folder.path(), args);
        let out = command.env("REHANG_CACHE", &cache).env("BROWSER", "/bin/echo").output().expect("rehang runs");
        (out.status.code(), text(&out.stdout), text(&out.stderr))
    };
    let (code, out, error) = said(&["report"]);
    assert!(
        code == Some(2) && out.is_empty() && error.contains("`rehang run FILTER --report DIR` makes one"),
        "{error}"
    );
    let (code, _, error) = said(&["run", "--stage", "sim", "healthy.toml", "--strategy", "none", "--report", "there"]);
    assert!(code == Some(0) && error.contains("report: there/index.html"), "{error}");
    let (code, out, _) = said(&["report", "--open"]);
    let file = Path::new(out.trim_end());
    assert!(code == Some(0) && file.is_absolute() && file.ends_with("there/index.html"), "{out}");
    let others = std::fs::read_dir(folder.path().join("there")).unwrap().count();
    assert_eq!(others, 1, "one file with all in it");
    std::fs::remove_file(file).unwrap();
    let (code, out, error) = said(&["report"]);
    assert!(code == Some(2) && out.is_empty() && error.contains("it is gone"), "{error}");
}

#[test]
fn of_many_cells_five_are_shown_and_the_others_named() {
    let folder = folder(&[("my-hang.toml", HANGS)]);
    let show = |args: &[&str]| {
        let out = rehang(folder.path(), &[&["show", "--stage", "sim"], args].concat());
        text(&out.stdout)
    };
    let cells = text(&rehang(folder.path(), &["list", "my-hang.toml"]).stdout);
    let cells: Vec<&str> = cells.lines().collect();
    let said = show(&["my-hang.toml"]);
    assert!(cells.len() > 20, "{cells:?}");
    assert_eq!(said.matches(" of virtual time").count(), 5, "{said}");
    assert!(said.contains("my-hang::none::null::1 on sim\n"), "{said}");
    let named: Vec<&str> = said.lines().filter_map(|line| line.strip_prefix("  my-hang::")).collect();
    assert_eq!(named.len(), cells.len() - 5, "{said}");
    let line = said.lines().find(|line| line.contains("more cells are not shown")).unwrap_or_default();
    let again = line.split('`').nth(1).unwrap_or_default().replacen("rehang", env!("CARGO_BIN_EXE_rehang"), 1);
    let one = Command::new("sh").args(["-c", &again]).current_dir(&folder).stdin(Stdio::null()).output();
    assert!(text(&one.expect("a shell").stdout).contains(" of virtual time"), "{again}");
}

#[test]
fn every_stack_of_two_is_compared_with_guard_where_a_file_skips_it_too() {
    let skips = "[[skip]]\nstrategies = [\"guard\", \"idle\"]\nbecause = \"another file shows them\"\n\n[[expect]]";
    let folder = folder(&[("once.toml", &HEALTHY.replacen("[[expect]]", skips, 1)), ("again.toml", HEALTHY)]);
    let out = rehang(folder.path(), &["score", "--pairs", "once.toml", "again.toml"]);
    let said = text(&out.stdout);
    assert!(out.status.success(), "{}", text(&out.stderr));
    assert!(said.contains(" of them of two; ") && said.contains("less than guard in sum"), "{said}");
    assert!(said.contains("6 of them of two") && said.contains("idle@f54b32f+idle@off"), "{said}");
    let rows = rehang(folder.path(), &["score", "--pairs", "--json", "once.toml"]);
    let names: Vec<String> = text(&rows.stdout)
        .lines()
        .map(|line| {
            serde_json::from_str::<serde_json::Value>(line).expect("JSON")["strategy"].as_str().unwrap().to_owned()
        })
        .collect();
    assert!(names.iter().any(|name| name == "guard") && names.iter().any(|name| name == "wall+idle@off"), "{names:?}");
}
