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
fn a_terminal_beside_a_stdin_that_is_none_is_there_without_the_wrapper_too() {
    // its agent's editor opens the wrapper's terminal and waits: a hang, and no healthy run that is ended
    let out = rehang(&["bash/editor", "--terminal", "tty", "--format", "json"], "timeout 2 claude -p go </dev/null");
    let scores = scores(&out);
    assert_eq!(score(&scores, "bash/editor::tty"), "stopped", "{scores:?}");
    assert!(scores.iter().all(|(_, score)| score != "harmed"), "{scores:?}");
}

/// A limit of ten minutes of silence, as people write it: it is not scaled, and takes no ten minutes here.
const TEN_MINUTES: &str = r#"
import os, selectors, signal, subprocess, sys, time
agent = subprocess.Popen(["claude", "-p", "go"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, start_new_session=True)
heard = time.monotonic()
pipes = selectors.DefaultSelector()
pipes.register(agent.stdout, selectors.EVENT_READ)
while True:
    if pipes.select(1.0):
        if not os.read(agent.stdout.fileno(), 65536):
            break
        heard = time.monotonic()
    if time.monotonic() - heard > 600:
        os.killpg(agent.pid, signal.SIGKILL)
        agent.wait()
        sys.exit(124)
sys.exit(1 if agent.wait() else 0)
"#;

#[test]
fn in_virtual_time_its_own_limits_act() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = folder.path().join("runner.py");
    std::fs::write(&script, TEN_MINUTES).expect("a file");
    let script = format!("exec python3 {}", script.display());
    let filter = ["bash/ignores-term", "little-loops/silent-compile", "benign/text"];
    let clock = ["--clock", "virtual", "--terminal", "null", "--jobs", "2", "--format", "json"];
    let args: Vec<&str> = filter.iter().chain(&clock).copied().collect();
    let out = rehang(&args, &script);
    let all = scores(&out);
    let said = String::from_utf8_lossy(&out.stderr);
    // the hang is ended, a compile that is silent for 11 minutes is too, one that is for a second less than 10 is not
    assert_eq!(score(&all, "bash/ignores-term::null"), "stopped", "{all:?} {said}");
    assert_eq!(score(&all, "little-loops/silent-compile[11m]::null"), "harmed", "{all:?} {said}");
    assert_eq!(score(&all, "little-loops/silent-compile[599s]::null"), "untouched", "{all:?} {said}");
    assert_eq!(score(&all, "benign/text::null"), "untouched", "{all:?} {said}");
    assert_eq!(out.status.code(), Some(1), "{said}");
    // and all times are the same in each run
    let times = |out: &Output| -> Vec<(String, String)> {
        let rows = String::from_utf8_lossy(&out.stdout).into_owned();
        let rows = rows.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
        rows.map(|row| (row["scenario"].to_string(), row["ended"].to_string())).collect()
    };
    assert_eq!(times(&out), times(&rehang(&args, &script)));
    // a scaled clock is for the wall clock
    let out = rehang(&["--clock", "virtual", "--speed", "60"], "claude -p go");
    assert_eq!(out.status.code(), Some(2), "{}", String::from_utf8_lossy(&out.stderr));
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

/// Wrappers without any logic, one for each way in which an agent is run.
const PASSES: [&str; 8] = [
    "exec claude -p go",
    "exec claude --dangerously-skip-permissions --output-format stream-json --verbose -p go",
    "exec opencode run go",
    "exec altimate run go",
    "exec codex exec go",
    "exec codex exec --json go",
    "exec gemini -p go",
    "exec gemini -o stream-json --yolo -p go",
];

/// How many ways are tried side by side: each command waits for its deadline, and hardly computes.
const AT_ONCE: usize = 4;

fn pass_through(filters: &[&str], deadline: &str) {
    std::thread::scope(|scope| {
        for wrappers in PASSES.chunks(PASSES.len() / AT_ONCE) {
            scope.spawn(move || wrappers.iter().for_each(|wrapper| passes_through(wrapper, filters, deadline)));
        }
    });
}

fn passes_through(wrapper: &str, filters: &[&str], deadline: &str) {
    for speed in ["20", "300"] {
        let more = ["--speed", speed, "--deadline", deadline, "--format", "json", "--jobs", "16"];
        let terminals = ["--terminal", "null", "--terminal", "closed"];
        let out = rehang(&[filters, &more, &terminals].concat(), wrapper);
        let scores = scores(&out);
        let did: Vec<_> =
            scores.iter().filter(|(_, score)| matches!(score.as_str(), "harmed" | "wrongly" | "stopped")).collect();
        assert!(!scores.is_empty(), "{wrapper}: {}", String::from_utf8_lossy(&out.stderr));
        assert!(did.is_empty(), "{wrapper} at {speed}: {did:?}");
    }
}

#[test]
fn a_wrapper_without_logic_is_charged_with_nothing() {
    // runs that end by a limit of their agent, that leave something, whose agent refuses in the user's name
    let filters =
        ["benign/text", "bash/noisy-holder", "lifecycle/leaked", "permission/opencode-run[", "altimate/answers"];
    pass_through(
        &[&filters[..], &["codex/question", "codex/approval", "gemini/commands", "gemini/goes-on"]].concat(),
        "2s",
    );
}

#[test]
#[ignore = "minutes: all scenarios that fit, each until its deadline"]
fn a_wrapper_without_logic_is_charged_with_nothing_in_any_scenario() {
    pass_through(&[], "4s");
}

#[test]
fn a_stdin_that_stays_open_is_s1_in_rehearsal_and_the_rest_goes_on() {
    let filters = ["benign/no-time-at-all", "--terminal", "pipe", "--terminal", "null"];
    let out = rehang(&filters, "timeout 2 opencode run go");
    let said = String::from_utf8_lossy(&out.stdout).into_owned();
    let s1 = "S1: the agent waits for the end of that stdin before anything else; the wrapper ends with 124";
    assert!(said.contains(s1), "{said}{}", String::from_utf8_lossy(&out.stderr));
    // what is left as it is, is not printed, and the last line sums up
    assert!(!said.contains("untouched benign"), "{said}");
    let last = said.lines().last().unwrap_or_default();
    assert!(last.starts_with("1 of 1 hang ended; healthy runs tried up to "), "{last}");
    assert_eq!(out.status.code(), Some(0));
    let open = rehang(&[&filters[..], &["--deadline", "2s"]].concat(), "exec opencode run go");
    let said = String::from_utf8_lossy(&open.stdout).into_owned();
    assert!(said.lines().last().unwrap_or_default().starts_with("0 of 1 hang ended; "), "{said}");
    assert_eq!(open.status.code(), Some(3));
    let all = rehang(&["benign/no-time-at-all", "--all", "--terminal", "null"], "exec opencode run go");
    assert!(String::from_utf8_lossy(&all.stdout).contains("untouched benign/no-time-at-all"));
}
