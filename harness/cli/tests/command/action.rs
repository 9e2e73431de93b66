//! The shell of `action.yml`: how it uses its inputs.
//!
//! Invariants: the words of a command are split and never evaluated; a command that is only half there does not run;
//! the exit code is rehang's own.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

/// What the action writes and runs.
struct Ran {
    code: Option<i32>,
    /// The words that `rehang` got, a line each.
    words: String,
    outputs: String,
}

/// The script of the step with this id: the block after its `run`.
fn script(id: &str) -> String {
    let action =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../action.yml")).expect("a file");
    let (_, step) = action.split_once(&format!("      id: {id}\n")).expect("a step");
    let (_, block) = step.split_once("      run: |\n").expect("a script");
    block.lines().map_while(|line| line.strip_prefix("        ")).map(|line| format!("{line}\n")).collect()
}

/// Runs the step as a runner does, with a `rehang` that writes down its arguments and ends with this code.
fn run(command: &str, report: &str, code: u8) -> Ran {
    let folder = tempfile::tempdir().expect("a folder");
    let bin = folder.path().join("rehang/bin");
    std::fs::create_dir_all(&bin).expect("a folder");
    let rehang = bin.join("rehang");
    std::fs::write(&rehang, format!("#!/bin/sh\nprintf '%s\\n' \"$@\" > words\nexit {code}\n")).expect("a file");
    std::fs::set_permissions(&rehang, std::fs::Permissions::from_mode(0o755)).expect("rights");
    std::fs::write(folder.path().join("step.sh"), script("rehang")).expect("a file");
    let ended = Command::new("bash")
        .args(["--noprofile", "--norc", "-eo", "pipefail", "step.sh"])
        .current_dir(folder.path())
        .env("COMMAND", command)
        .env("REPORT", report)
        .env("RUNNER_TEMP", folder.path())
        .env("GITHUB_OUTPUT", "outputs")
        .env("GITHUB_STEP_SUMMARY", "the summary")
        .output()
        .expect("bash");
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap_or_default();
    assert!(!folder.path().join("owned").exists(), "{command} was evaluated");
    Ran { code: ended.status.code(), words: read("words"), outputs: read("outputs") }
}

#[test]
fn words_are_split_as_a_shell_splits_them() {
    let ran = run("run --scenarios 'my hangs' \\\n  --strategy \"a+b\" c\\ d", "a report", 0);
    assert_eq!(
        ran.words,
        "run\n--scenarios\nmy hangs\n--strategy\na+b\nc d\n--summary\nthe summary\n--report\na report\n"
    );
    assert_eq!(
        run("wrapper F1 -- ./run.sh go", "r", 0).words,
        "wrapper\n--summary\nthe summary\nF1\n--\n./run.sh\ngo\n"
    );
    assert_eq!(run("run", "", 0).words, "run\n--summary\nthe summary\n");
}

#[test]
fn nothing_of_a_command_is_evaluated() {
    let evil = "run $(touch owned) `touch owned` ; touch owned | touch owned > owned $HOME *";
    let ran = run(evil, "$(touch owned)", 0);
    assert!(ran.words.starts_with("run\n$(touch\nowned)\n`touch\nowned`\n;\ntouch\n"), "{}", ran.words);
    assert!(ran.words.ends_with("$HOME\n*\n--summary\nthe summary\n--report\n$(touch owned)\n"), "{}", ran.words);
}

#[test]
fn half_a_command_does_not_run() {
    let ran = run("run --strategy guard --terminal 'null", "r", 0);
    assert_eq!((ran.code, ran.words.as_str(), ran.outputs.as_str()), (Some(2), "", "exit-code=2\n"));
}

#[test]
fn the_exit_code_is_the_runs_own_and_a_report_is_kept_all_the_same() {
    let ran = run("run", "r", 3);
    assert_eq!((ran.code, ran.outputs.as_str()), (Some(3), "report=r\nexit-code=3\n"));
    let ran = run("upstream opencode@latest", "r", 1);
    assert_eq!((ran.code, ran.outputs.as_str()), (Some(1), "exit-code=1\n"));
}
