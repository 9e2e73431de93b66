//! What a user is told who gives a command a name that does not exist, or an argument that it cannot use.
//!
//! Invariant: it is a usage error with its reason, said once, and nothing of the user's is overwritten. A mistyped name
//! is answered with the nearest; one that is far from all is not.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Command, Stdio};

struct Said {
    code: Option<i32>,
    out: String,
    err: String,
}

fn rehang<S: AsRef<OsStr>>(args: &[S]) -> Said {
    let out = Command::new(env!("CARGO_BIN_EXE_rehang")).args(args).stdin(Stdio::null()).output().expect("rehang");
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Said { code: out.status.code(), out: text(out.stdout), err: text(out.stderr) }
}

/// A scenario of a server whose question nobody answers.
const ASKS: &str = r#"title = "Asks"
mechanism = "Q1"
agent = { opencode = { as = "1.2.15", mode = "serve" } }
terminals = ["null"]
turns = [{ say = "Looking." }, { ask = [{ question = "Which?", options = [{ label = "A" }, { label = "B" }] }] }]

[[expect]]
outcome = { hung = "question" }
"#;

fn written(folder: &Path, name: &str, text: &[u8]) -> String {
    let path = folder.join(name);
    std::fs::write(&path, text).expect("a file");
    path.to_string_lossy().into_owned()
}

#[test]
fn a_strategy_without_a_seat_is_the_users_error() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = written(folder.path(), "asks.toml", ASKS.as_bytes());
    for command in ["--shrink", "--json"] {
        let said = rehang(&["reproduce", command, &file, "--strategy", "idle@f54b32f"]);
        assert!(said.code == Some(2) && said.err.contains("it needs a process"), "{command}: {}", said.err);
        let broken = written(folder.path(), "broken.toml", b"title = \"T\"\nagent = { opencode = {} }\n");
        let said = rehang(&["reproduce", command, &broken]);
        assert!(said.code == Some(2) && said.err.contains("`mechanism` is missing"), "{command}: {}", said.err);
        assert_eq!(said.err.matches("error:").count(), 1, "{command}: {}", said.err);
    }
}

#[test]
fn a_command_that_has_moved_says_where_it_went() {
    for args in [&["replay", "t.ndjson"][..], &["help", "replay"]] {
        let said = rehang(args);
        assert_eq!((said.code, said.out.as_str()), (Some(2), ""), "{args:?}");
        assert_eq!(said.err, "`rehang replay` is now `rehang show --replay`\n", "{args:?}");
    }
    let said = rehang(&["record", "claude@2.1.329", "text"]);
    assert_eq!((said.code, said.out.as_str()), (Some(2), ""), "{}", said.err);
    assert!(said.err.starts_with("`rehang record` is now `rehang-lab record`, from the repository: "), "{}", said.err);
}

#[test]
fn a_command_that_is_no_text_is_a_usage_error() {
    let no_text = OsStr::from_bytes(b"\xff");
    for args in [&[no_text][..], &[OsStr::new("help"), no_text]] {
        let said = rehang(args);
        assert_eq!(said.code, Some(2), "{args:?}: {}", said.err);
        assert!(said.err.starts_with("error: unrecognized subcommand"), "{args:?}: {}", said.err);
    }
}

#[test]
fn a_scenario_is_made_small_and_printed() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = written(folder.path(), "asks.toml", ASKS.as_bytes());
    let said = rehang(&["reproduce", "--shrink", &file, "--shows", "hangs:question"]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert!(said.err.starts_with("it shows hangs:question under none\n"), "{}", said.err);
    assert!(said.out.contains("mode = \"serve\"") && said.out.contains("[[expect]]"), "{}", said.out);
    let other = rehang(&["reproduce", "--shrink", &file, "--shows", "completed"]);
    assert!(other.code == Some(2) && other.err.contains("does not show `completed`"), "{}", other.err);
    for (args, why) in [
        (&["--shows", "differs"][..], "goes with `--shrink`"),
        (&["--shrink", "--shows", "differs"], "give the same trace"),
    ] {
        let said = rehang(&[&["reproduce", &file], args].concat());
        assert!(said.code == Some(2) && said.err.contains(why), "{args:?}: {}", said.err);
    }
}

#[test]
fn what_is_reproduced_is_reached_by_the_same_strategies() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = written(folder.path(), "asks.toml", ASKS.as_bytes());
    let said = rehang(&["reproduce", &file, "--json"]);
    let report: serde_json::Value = serde_json::from_str(&said.out).expect(&said.err);
    let names: Vec<&str> =
        report["strategies"].as_array().expect("a list").iter().filter_map(|did| did["strategy"].as_str()).collect();
    assert!(names.contains(&"watcher@pr3") && names.contains(&"pending-ask"), "{names:?}");
    assert!(!names.contains(&"wall"), "{names:?}");
    let scenario = report["scenario"].as_str().expect("a file");
    assert!(scenario.contains("mode = \"serve\"") && !scenario.contains("about"), "{scenario}");
}

#[test]
fn what_is_no_log_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let bytes: Vec<u8> = (0..3_000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    let noise = written(folder.path(), "noise", &bytes);
    let scenario = written(folder.path(), "asks.toml", ASKS.as_bytes());
    for (file, why) in [(&noise, "--format"), (&scenario, "rehang run --scenarios")] {
        let said = rehang(&["import", file]);
        assert!(said.code == Some(2) && said.err.contains(why) && said.out.is_empty(), "{file}: {}", said.err);
    }
}

#[test]
fn the_end_of_a_typescript_is_in_it() {
    let folder = tempfile::tempdir().expect("a folder");
    for (code, end) in [(0, "completed"), (3, "failed")] {
        let text = format!(
            "Script started on 2026-01-02 03:04:05+00:00 [COMMAND=\"make\" TERM=\"xterm\"]\nmade\r\n\nScript done on 2026-01-02 03:04:06+00:00 [COMMAND_EXIT_CODE=\"{code}\"]\n"
        );
        let said = rehang(&["import", "--json", &written(folder.path(), "typescript", text.as_bytes())]);
        let report: serde_json::Value = serde_json::from_str(&said.out).expect(&said.err);
        assert_eq!((said.code, &report["verdict"]), (Some(0), &serde_json::json!(end)), "{report:#}");
        assert!(!report["scenario"].to_string().contains("Script"), "{}", report["scenario"]);
    }
}

#[test]
fn a_file_that_exists_is_not_written_over() {
    let folder = tempfile::tempdir().expect("a folder");
    let log = written(folder.path(), "log", b"0.5\tOverwrite it? [y/N] \n");
    let mine = written(folder.path(), "mine.toml", b"mine");
    let said = rehang(&["import", &log, "--out", &mine]);
    assert!(said.code == Some(2) && said.err.contains("exists; name a new file"), "{}", said.err);
    assert_eq!(std::fs::read(&mine).expect("a file"), b"mine");
    let fresh = folder.path().join("fresh.toml");
    assert_eq!(rehang(&["import", &log, "--out", &fresh.to_string_lossy()]).code, Some(0));
    assert!(fresh.is_file());
}

#[test]
fn one_process_that_is_gone_does_not_hide_the_others() {
    let own = std::process::id().to_string();
    let said = rehang(&["why", &own, "999999999", "--window", "1ms", "--json"]);
    assert!(said.err.contains("there is no process 999999999"), "{}", said.err);
    assert_eq!(said.out.lines().count(), 1, "{}", said.out);
    assert!(said.code >= Some(2), "{:?}", said.code);
    let none = rehang(&["why", "999999999", "--window", "1ms"]);
    assert!(none.code == Some(2) && none.out.is_empty(), "{}", none.out);
}

/// Of each kind of name that a user types: the command, with `NAME` in the place of the name; a name with one slip;
/// what was meant. `NAME` may also stand for the wrong part of a name that has several parts.
const NAMES: [(&[&str], &str, &str); 26] = [
    (&["run", "NAME"], "row-dfif", "row-diff"),
    (&["list", "NAME"], "qestion/", "question/"),
    (&["list", "--exact", "NAME"], "question/row-dif", "question/row-diff"),
    (&["score", "NAME"], "q1", "Q1"),
    (&["list", "NAME"], "question-no-answerr", "Q1"),
    (&["show", "NAME::none::null::1"], "question/row-dfif", "question/row-diff::none::null::1"),
    (&["show", "question/row-diff::NAME::null::1"], "nnoe", "question/row-diff::none::null::1"),
    (&["show", "question/row-diff::none::NAME::1"], "nul", "question/row-diff::none::null::1"),
    (&["list", "--strategy", "NAME"], "idel@off", "idle"),
    (&["list", "--strategy", "NAME"], "idle@f54b32e", "idle@f54b32f"),
    (&["list", "--strategy", "idle@f54b32f(NAME=1s)"], "timout", "timeout"),
    (&["list", "--strategy", "NAME"], "gaurd", "guard"),
    (&["list", "--terminal", "NAME"], "nul", "null"),
    (&["path", "NAME"], "question/row-dfif", "question/row-diff"),
    (&["upstream", "NAME@1.3.0"], "opncode", "opencode"),
    (&["upstream", "NAME"], "opncode", "opencode"),
    (&["upstream", "opencode@NAME"], "lates", "latest"),
    (&["upstream", "opencode@latest", "--terminal", "NAME"], "ppie", "pipe"),
    (&["agents", "NAME"], "cladue", "claude"),
    (&["bisect", "NAME", "question", "--good", "1.3.0", "--bad", "1.2.15"], "opencod", "opencode"),
    (&["bisect", "opencode", "NAME", "--good", "1.3.0", "--bad", "1.2.15"], "qestion", "question"),
    (&["wrapper", "NAME", "--", "true"], "row-dfif", "row-diff"),
    (&["supervise", "--strategy", "NAME", "--", "true"], "gaurd", "guard"),
    (&["score", "--logs", "nothing.log", "--strategy", "idle@f54b32f", "--param", "NAME=1s"], "timout", "timeout"),
    (&["reproduce", "nothing.log", "--shows", "breaks:NAME"], "hamr", "breaks:harm"),
    (&["import", "nothing.log", "--format", "NAME"], "clade", "claude"),
];

#[test]
fn a_name_with_a_slip_is_answered_with_the_nearest() {
    let wrong: Vec<String> = std::thread::scope(|scope| {
        // two processors' worth: each name is two commands that read the corpus
        let halves = NAMES.chunks(NAMES.len().div_ceil(2));
        let started: Vec<_> = halves.map(|names| scope.spawn(move || unhelpful(names))).collect();
        started.into_iter().flat_map(|half| half.join().expect("its own failure is printed above")).collect()
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What those of `names` that are not answered as they must be are told.
fn unhelpful(names: &[(&[&str], &str, &str)]) -> Vec<String> {
    let told = |args: &[&str], name: &str| {
        let args: Vec<String> = args.iter().map(|arg| arg.replace("NAME", name)).collect();
        let said = rehang(&args.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!((said.code, said.out.as_str()), (Some(2), ""), "{args:?}: {}", said.err);
        assert_eq!(said.err.matches("error:").count(), 1, "{args:?}: {}", said.err);
        said.err
    };
    let mut wrong = Vec::new();
    for &(args, slip, meant) in names {
        let near = told(args, slip);
        if !near.contains(&format!("did you mean `{meant}`?")) || !near.contains(slip) {
            wrong.push(format!("{args:?} {slip}: {near}"));
        }
        let far = told(args, "xyzzyplugh");
        if far.contains("did you mean") || !far.contains("xyzzyplugh") && !far.contains("there are") {
            wrong.push(format!("{args:?} xyzzyplugh: {far}"));
        }
    }
    wrong
}

#[test]
fn one_file_is_no_plural() {
    let folder = tempfile::tempdir().expect("a folder");
    let answers = r#"people = [{ via = "http", after = "2s", does = { answer = ["A"] } }]"#;
    let file = written(folder.path(), "asks.toml", format!("{ASKS}\n[control]\n{answers}\n").as_bytes());
    let said = rehang(&["check", &file]);
    assert_eq!(said.out, "1 file: 1 right (1 scenario), 0 with errors\n", "{}", said.err);
}
