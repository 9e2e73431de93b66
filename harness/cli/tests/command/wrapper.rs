//! `rehang wrapper` with wrappers of a few words: one that waits for ever, one that lies, one that kills, one that is good.
//!
//! Invariant: scores and exit codes are asserted. All runs in virtual time but those whose name says otherwise: no machine
//! is so slow that a healthy run meets a wrapper's limit.

use std::process::{Command, Output};

fn rehang(args: &[&str], wrapper: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rehang"));
    command.arg("wrapper").args(args);
    // a busy machine decides nothing
    if !args.iter().any(|arg| ["--within", "--clock"].contains(arg)) {
        command.args(["--within", "1h"]);
    }
    command.args(["--name", "ours", "--", "sh", "-c", wrapper]);
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
    let args: Vec<&str> = [OPEN_PIPE].iter().chain(&JSON).chain(more).copied().collect();
    let out = rehang(&args, wrapper);
    (scores(&out), out.status.code())
}

fn score<'a>(of: &'a [(String, String)], name: &str) -> &'a str {
    of.iter().find(|(cell, _)| cell == name).map_or("", |(_, score)| score)
}

#[test]
fn one_that_waits_for_ever_misses_the_hang() {
    let (scores, code) = open_pipe(&["--terminal", "pipe", "--terminal", "null"], "exec claude -p go");
    assert_eq!(score(&scores, "stdin/open-pipe[2.0.77]::pipe"), "missed", "{scores:?}");
    assert_eq!(score(&scores, "stdin/open-pipe[2.0.77]::null"), "untouched", "{scores:?}");
    assert_eq!(code, Some(3));
}

#[test]
fn one_that_ends_it_and_says_so_tells_the_truth() {
    let (scores, code) = open_pipe(&["--terminal", "pipe"], "timeout 600 claude -p go");
    assert_eq!((score(&scores, "stdin/open-pipe[2.0.77]::pipe"), code), ("stopped", Some(0)), "{scores:?}");
}

#[test]
fn one_that_ends_it_and_says_that_all_went_well_lies() {
    let (scores, code) = open_pipe(&["--terminal", "pipe"], "timeout 600 claude -p go; true");
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
    let out = rehang(&["bash/editor", "--terminal", "tty", "--format", "json"], "timeout 600 claude -p go </dev/null");
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
    let args: Vec<&str> = filter.iter().chain(&["--terminal", "null", "--format", "json"]).copied().collect();
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
    // a reader is told which limit acted, what it cost, and what to do
    let out = rehang(&[&filter[..], &["streams[a-word", "--terminal", "null"]].concat(), &script);
    let said = String::from_utf8_lossy(&out.stdout);
    let limits =
        "idle limit: 10m1s (3 of 3 ended runs); wall limit: none seen, the longest run it let go on was 26m40s";
    assert!(said.contains(limits), "{said}");
    assert!(said.contains("HARMED    2 × F1 long-silent-build: "), "{said}");
    assert!(said.contains("Tell it by (F1): the command is alive"), "{said}");
    assert!(said.lines().count() <= 40, "{said}");
}

#[test]
fn a_hang_that_is_missed_is_told_with_who_waits_for_whom_and_what_prevents_it() {
    let out = rehang(&[OPEN_PIPE, "--terminal", "pipe"], "claude -p go | cat");
    let said = String::from_utf8_lossy(&out.stdout);
    assert!(said.contains("MISSED    "), "{said}");
    assert!(said.contains("waits for ever (a deadlock since "), "{said}");
    assert!(said.contains("where: ") && said.contains("cat in read waits for fd 0"), "{said}");
    assert!(said.contains("Prevent (S1): `</dev/null`"), "{said}");
    assert_eq!(out.status.code(), Some(3), "{said}");
}

#[test]
fn a_cell_that_needs_too_much_real_time_is_undecided_and_blames_nobody() {
    // a wrapper that computes for ever: virtual time flows with the processor's
    let spins = "claude -p go & while :; do :; done";
    let out = rehang(&["benign/no-time-at-all", "--terminal", "null", "--within", "1s", "--list"], spins);
    let said = String::from_utf8_lossy(&out.stderr);
    assert!(said.contains("needed more than 1s of real time (--within)"), "{said}");
    // one that does so only if its agent hangs
    let once = "claude -p go & p=$!; sleep 3000; kill -0 $p 2>/dev/null || exit 0; while :; do :; done";
    let args = ["bash/ignores-term", "--terminal", "null", "--within", "10s"];
    let out = rehang(&args, once);
    let said = String::from_utf8_lossy(&out.stdout);
    assert!(said.contains("needed more than 10s of real time (--within); it had reached "), "{said}");
    assert!(said.lines().last().is_some_and(|last| last.contains("0 of 1 hang ended; 1 undecided")), "{said}");
    assert_eq!(out.status.code(), Some(0), "{said}{}", String::from_utf8_lossy(&out.stderr));
}

#[test]
fn a_healthy_run_of_four_hours_that_is_ended_after_ten_minutes_is_harmed() {
    // without the wrapper it is watched for as long as it takes, not as long as the wrapper let it live
    let out = rehang(&["four-hours[at]", "--terminal", "null", "--format", "json"], "timeout 600 claude -p go");
    let scores = scores(&out);
    assert_eq!(score(&scores, "little-loops/four-hours[at]::null"), "harmed", "{scores:?}");
    assert_eq!(out.status.code(), Some(1));
}

#[test]
fn on_the_wall_clock_who_is_still_there_is_undecided() {
    let args = [OPEN_PIPE, "--terminal", "pipe", "--clock", "wall", "--deadline", "2s"];
    let out = rehang(&args, "exec claude -p go");
    let said = String::from_utf8_lossy(&out.stdout);
    assert!(said.contains("is still there after 2s"), "{said}");
    assert!(
        said.lines().last().is_some_and(|last| last.ends_with("not tried on the wall clock: limits above 2s")),
        "{said}"
    );
    assert_eq!(out.status.code(), Some(0), "{said}{}", String::from_utf8_lossy(&out.stderr));
}

#[test]
fn where_processes_must_not_be_traced_the_wall_clock_is_named() {
    // a tree in virtual time may not trace
    let mut command = Command::new(env!("CARGO_BIN_EXE_rehang"));
    command.args([
        "warp",
        "--",
        env!("CARGO_BIN_EXE_rehang"),
        "wrapper",
        "benign/text",
        "--",
        "sh",
        "-c",
        "claude -p go",
    ]);
    command.env("REHANG_FAKES", env!("CARGO_BIN_EXE_rehang")).current_dir(env!("CARGO_MANIFEST_DIR"));
    let out = command.output().expect("rehang runs");
    let said = String::from_utf8_lossy(&out.stderr);
    assert!(said.contains("cannot trace a process") && said.contains("`--clock wall`"), "{said}");
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

/// How many ways are tried side by side.
const AT_ONCE: usize = 2;

fn pass_through(filters: &[&str]) {
    std::thread::scope(|scope| {
        for wrappers in PASSES.chunks(PASSES.len() / AT_ONCE) {
            scope.spawn(move || wrappers.iter().for_each(|wrapper| passes_through(wrapper, filters)));
        }
    });
}

fn passes_through(wrapper: &str, filters: &[&str]) {
    let more = ["--format", "json", "--terminal", "null", "--terminal", "closed"];
    let out = rehang(&[filters, &more].concat(), wrapper);
    let scores = scores(&out);
    let did: Vec<_> = scores
        .iter()
        .filter(|(_, score)| matches!(score.as_str(), "harmed" | "wrongly" | "stopped" | "resolved"))
        .collect();
    assert!(!scores.is_empty(), "{wrapper}: {}", String::from_utf8_lossy(&out.stderr));
    assert!(did.is_empty(), "{wrapper}: {did:?}");
}

#[test]
fn a_wrapper_without_logic_is_charged_with_nothing() {
    // runs that end by a limit of their agent, that leave something, whose agent refuses in the user's name
    let filters =
        ["benign/text", "bash/noisy-holder", "lifecycle/leaked", "permission/opencode-run[", "altimate/answers"];
    pass_through(&[&filters[..], &["codex/question", "codex/approval", "gemini/commands", "gemini/goes-on"]].concat());
}

#[test]
#[ignore = "minutes: all scenarios that fit"]
fn a_wrapper_without_logic_is_charged_with_nothing_in_any_scenario() {
    pass_through(&[]);
}

#[test]
fn a_stdin_that_stays_open_is_s1_in_rehearsal_and_the_rest_goes_on() {
    let filters = ["benign/no-time-at-all", "--terminal", "pipe", "--terminal", "null"];
    let out = rehang(&filters, "timeout 600 opencode run go");
    let said = String::from_utf8_lossy(&out.stdout).into_owned();
    let s1 = "S1: the agent waits for the end of that stdin before anything else; the wrapper ends with 124";
    assert!(said.contains(s1), "{said}{}", String::from_utf8_lossy(&out.stderr));
    // what is left as it is, is not printed, and the last line sums up
    assert!(!said.contains("untouched benign"), "{said}");
    let last = said.lines().last().unwrap_or_default();
    assert!(last.starts_with("1 of 1 hang ended; no healthy run of up to "), "{last}");
    assert_eq!(out.status.code(), Some(0));
    let open = rehang(&filters, "exec opencode run go");
    let said = String::from_utf8_lossy(&open.stdout).into_owned();
    assert!(said.lines().last().unwrap_or_default().starts_with("0 of 1 hang ended; "), "{said}");
    assert_eq!(open.status.code(), Some(3));
    let all = rehang(&["benign/no-time-at-all", "--all", "--terminal", "null"], "exec opencode run go");
    assert!(String::from_utf8_lossy(&all.stdout).contains("untouched benign/no-time-at-all"));
}

#[test]
fn a_pipe_of_the_wrappers_own_is_told_as_open_or_closed() {
    let header = |wrapper: &str| {
        let out = rehang(&["benign/no-time-at-all", "--terminal", "null"], wrapper);
        let said = String::from_utf8_lossy(&out.stdout).into_owned();
        assert!(
            said.starts_with("on null: starts claude, claude -p; "),
            "{said}{}",
            String::from_utf8_lossy(&out.stderr)
        );
        said.lines().take(2).map(str::to_owned).collect::<Vec<_>>()
    };
    let open = header("d=$(mktemp -d); mkfifo $d/in; exec 3<>$d/in; claude -p go <$d/in; c=$?; rm -r $d; exit $c");
    assert!(open[0].ends_with("the agent's stdin is a pipe of the wrapper's, which stays open"), "{open:?}");
    assert!(open[1].contains("S1: a release that reads its stdin to the end never begins there"), "{open:?}");
    let closed = header(": | claude -p go");
    assert!(closed[0].ends_with("the agent's stdin is a pipe of the wrapper's, which it closes"), "{closed:?}");
    assert!(!closed[1].contains("S1"), "{closed:?}");
}

/// Runs the mutants of a good wrapper with these names; all, and the good one, without any.
fn mutants(names: &[&str]) {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/wrappers/mutants.py");
    let mut command = Command::new("python3");
    command.arg(script).arg(env!("CARGO_BIN_EXE_rehang")).args(names);
    command.env("REHANG_FAKES", env!("CARGO_BIN_EXE_rehang")).current_dir(env!("CARGO_MANIFEST_DIR"));
    let out = command.output().expect("python3");
    assert!(out.status.success(), "{}{}", String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
}

#[test]
fn a_fault_of_a_wrapper_is_named() {
    mutants(&["term-without-kill", "stderr-not-drained", "says-done-after-a-limit", "lines-of-64-kib"]);
}

#[test]
#[ignore = "minutes: 21 mutants, and the wrapper that they are made of in all of their scenarios"]
fn each_fault_of_a_wrapper_is_named_and_the_good_one_has_none() {
    mutants(&[]);
}

#[test]
fn a_page_of_a_ci_job_has_the_findings() {
    let folder = tempfile::tempdir().expect("a folder");
    let page = folder.path().join("page.md");
    let page = page.to_str().expect("a path");
    let out = rehang(&[OPEN_PIPE, "--terminal", "pipe", "--summary", page], "claude -p go | cat");
    let written = std::fs::read_to_string(page).unwrap_or_default();
    assert!(written.starts_with("## rehang wrapper: ours\n\n0 of 1 hang ended; "), "{written}");
    assert!(written.contains("MISSED    1 × S1 ") && written.contains("Prevent (S1): "), "{written}");
    assert_eq!(out.status.code(), Some(3));
}

#[test]
fn what_waits_for_a_model_server_of_its_own_is_proved_to_hang() {
    // the server listens all the while, and only the cell knows its port
    let stall = "model/stall[opencode-1.2.15-middle]";
    let out = rehang(&[stall, "--terminal", "null"], "exec opencode run go </dev/null");
    let said = String::from_utf8_lossy(&out.stdout);
    assert!(said.contains("MISSED    1 × M1 ") && said.contains("(a deadlock since "), "{said}");
    assert_eq!(out.status.code(), Some(3), "{said}");
}
