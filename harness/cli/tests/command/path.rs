//! `rehang path`: agents in a folder play a scenario for any program that finds them on `PATH`.
//!
//! Invariant: only what is said and how it ends is asserted, never when.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

fn rehang(cache: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rehang"));
    command.env("REHANG_FAKES", env!("CARGO_BIN_EXE_rehang"));
    command.args(args).env("REHANG_CACHE", cache).current_dir(env!("CARGO_MANIFEST_DIR"));
    command.output().expect("rehang runs")
}

fn folder(cache: &Path, args: &[&str]) -> PathBuf {
    let out = rehang(cache, args);
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    PathBuf::from(String::from_utf8(out.stdout).expect("a path").trim_end())
}

/// An agent, found on a `PATH` that has only the folder, in an environment that has only `PATH`.
fn agent(folder: &Path, line: &[&str]) -> Command {
    let mut command = Command::new(folder.join(line[0]));
    command.args(&line[1..]).env_clear().env("PATH", folder);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

#[test]
fn every_agent_of_a_folder_plays_the_scenario() {
    let cache = tempfile::tempdir().expect("a folder");
    let folder = folder(cache.path(), &["path", "benign/text"]);
    for line in [&["claude", "-p", "go"][..], &["opencode", "run", "go"], &["fake-altimate", "run", "go"]] {
        let out = agent(&folder, line).output().expect("a fake");
        let said = String::from_utf8_lossy(&out.stdout);
        assert!(out.status.success() && said.contains("hello from fake"), "{line:?}: {said}");
    }
}

#[test]
fn a_fault_of_the_model_is_played_too() {
    let cache = tempfile::tempdir().expect("a folder");
    let folder = |scenario: &str| folder(cache.path(), &["path", scenario, "--speed", "1000"]);
    for (scenario, line, code, says) in [
        ("model/refused[opencode-500]", &["opencode", "run", "go"][..], 0, "Here I am."),
        ("model/refused[claude-reset]", &["claude", "-p", "go"], 0, "Here I am."),
        ("model/refused[claude-401]", &["claude", "-p", "go"], 1, "401"),
    ] {
        let out = agent(&folder(scenario), line).output().expect("a fake");
        let said = String::from_utf8_lossy(&out.stdout);
        assert!(out.status.code() == Some(code) && said.contains(says), "{scenario}: {:?} {said}", out.status);
    }
}

#[test]
fn the_same_scenario_is_the_same_folder() {
    let cache = tempfile::tempdir().expect("a folder");
    let first = folder(cache.path(), &["path", "benign/text"]);
    assert_eq!(first, folder(cache.path(), &["path", "benign/text"]));
    assert_ne!(first, folder(cache.path(), &["path", "benign/text", "--speed", "2"]));
    assert_eq!(std::fs::read_dir(first.parent().expect("a cache")).expect("a cache").count(), 2);
}

#[test]
fn a_hang_is_a_hang_until_its_cause_is_gone() {
    let cache = tempfile::tempdir().expect("a folder");
    let folder = folder(
        cache.path(),
        &["path", "stdin/open-pipe[2.0.77]", "--dir", &cache.path().join("bin").to_string_lossy()],
    );
    let mut child = agent(&folder, &["claude", "-p", "go"]).stdin(Stdio::piped()).spawn().expect("a fake");
    let mut stdin = child.stdin.take().expect("a pipe");
    // it reads to the end: what is written late still counts
    stdin.write_all(b"late words").expect("it still waits");
    assert!(child.try_wait().expect("a child").is_none());
    drop(stdin);
    let out = child.wait_with_output().expect("a child");
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
}

#[test]
fn what_a_fake_cannot_play_alone_is_refused() {
    let cache = tempfile::tempdir().expect("a folder");
    for (args, says) in [
        (&["path", "child/stdout-mute"][..], "strikes a process from outside"),
        (&["path", "question/row-diff", "--control"], "nobody plays people"),
        (&["path", "question/rwo-diff"], "question/row-diff"),
        (&["path", "question/releases"], "name one scenario"),
    ] {
        let out = rehang(cache.path(), args);
        let said = String::from_utf8_lossy(&out.stderr).into_owned();
        assert!(out.status.code() == Some(2) && said.contains(says), "{args:?}: {said}");
    }
}

#[test]
fn a_file_that_is_no_link_of_ours_is_left_alone() {
    let cache = tempfile::tempdir().expect("a folder");
    let dir = cache.path().join("bin");
    std::fs::create_dir(&dir).expect("a folder");
    std::fs::write(dir.join("claude"), "mine").expect("a file");
    let out = rehang(cache.path(), &["path", "benign/text", "--dir", &dir.to_string_lossy()]);
    assert_eq!(out.status.code(), Some(2));
    assert_eq!(std::fs::read(dir.join("claude")).expect("a file"), b"mine");
}

#[test]
fn it_says_which_program_hangs_and_how_to_call_it() {
    let cache = tempfile::tempdir().expect("a folder");
    let note = |scenario: &str| {
        let out = rehang(cache.path(), &["path", scenario]);
        // stdout is the folder alone: a shell puts it into PATH
        assert_eq!(String::from_utf8_lossy(&out.stdout).lines().count(), 1);
        String::from_utf8_lossy(&out.stderr).into_owned()
    };
    assert!(note("question/row-diff").contains("note: `opencode` plays it (Asks to run a row-level diff"));
    assert!(note("question/row-diff").contains("call `opencode run "));
    assert!(note("startup/mcp-init-never").contains("call `claude -p go` or `opencode run go`"));
}

#[test]
#[ignore = "needs pytest and node"]
fn the_snippets_of_its_page_work_as_they_stand() {
    let page =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/path.md")).expect("a page");
    let snippet = |language: &str| {
        let code = page.split(&format!("```{language}\n")).nth(1).and_then(|rest| rest.split("```").next());
        code.expect("the page has it").to_owned()
    };
    let place = tempfile::tempdir().expect("a folder");
    std::fs::write(place.path().join("test_hang.py"), snippet("python")).expect("a file");
    std::fs::write(place.path().join("hang.test.js"), snippet("js")).expect("a file");
    let own = Path::new(env!("CARGO_BIN_EXE_rehang")).parent().expect("a folder").to_owned();
    let path = std::env::var("PATH").unwrap_or_default();
    for call in [&["python3", "-m", "pytest", "-q"][..], &["node", "--test"]] {
        let mut command = Command::new(call[0]);
        command.args(&call[1..]).current_dir(&place).env("PATH", format!("{}:{path}", own.display()));
        let out = command.env("REHANG_CACHE", place.path().join("cache")).output().expect("it is installed");
        let said = [out.stdout, out.stderr].concat();
        assert!(out.status.success(), "{call:?}: {}", String::from_utf8_lossy(&said));
    }
}
