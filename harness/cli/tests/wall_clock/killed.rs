//! `kill -9` of `rehang upstream`, while an agent runs and while it installs: nothing is left, and the next run goes on.
//!
//! Invariant: the agent and the installer say themselves how far they are, by a named pipe, and nothing waits for time;
//! the ceiling only aborts. One test alone in its process: it becomes the parent of every process that a killed run
//! leaves.

use libtest_mimic::{Arguments, Trial};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Output, Stdio};

/// Seconds after which a process that a killed run left counts as one that lives on.
const CEILING_S: libc::c_uint = 120;

/// Only `--deadline` decides what counts as a hang here.
const AGENT: &str = r#"
name   = "small"
title  = "A small agent"
source = { npm = "small" }

[recipe]
program    = ["python3"]
dialect    = "openai-chat"
model      = "m"
window-ms  = 600_000
memory-mib = 50

[recipe.forms]
run = { args = ["{root}/node_modules/small/agent.py", "{base_url}", "{args}"] }

[recipe.tools]
ask = { name = "question", arguments = { questions = "{questions}" } }
"#;

/// It asks its model; a word of the model's makes it stay for good, and it says that it does.
const PROGRAM: &str = r#"
import json, os, sys, time, urllib.request
tools = [{"type": "function", "function": {"name": "question", "parameters": {"type": "object"}}}]
body = json.dumps({"model": "m", "messages": [{"role": "user", "content": "go"}], "tools": tools}).encode()
request = urllib.request.Request(sys.argv[1] + "/v1/chat/completions", body, {"content-type": "application/json"})
message = json.load(urllib.request.urlopen(request))["choices"][0]["message"]
if not message.get("tool_calls"):
    with open(os.path.join(os.path.dirname(__file__), "word"), "w") as word:
        word.write("stays\n")
    time.sleep(100000)
"#;

/// Takes npm's place. If it is told to stop half-way, it says when it has half of the package.
const NPM: &str = r#"#!/bin/sh
case " $* " in
*" view "*) echo '["1.0.0"]' ;;
*" install "*)
  echo install >> "$STUB/installs"
  mkdir -p node_modules/small
  test -n "$STUB_HALF" && { echo 'import' > node_modules/small/agent.py; echo half > "$STUB/word"; exec cat "$STUB/never"; }
  cp "$STUB/agent.py" node_modules/small/agent.py
  ln "$STUB/word" node_modules/small/word
  printf '{"lockfileVersion":3,"packages":{"":{},"node_modules/small":{"version":"1.0.0","integrity":"sha512-abc"}}}' > package-lock.json ;;
*) exit 9 ;;
esac
"#;

struct Place {
    dir: tempfile::TempDir,
    words: BufReader<File>,
}

impl Place {
    fn new() -> Place {
        let dir = tempfile::tempdir().expect("a folder");
        let (at, mode) = (|name: &str| dir.path().join(name), nix::sys::stat::Mode::from_bits_truncate(0o666));
        for folder in ["agents", "bin"] {
            std::fs::create_dir(at(folder)).expect("a folder");
        }
        std::fs::write(at("agents/small.toml"), AGENT).expect("the agent's file");
        std::fs::write(at("agent.py"), PROGRAM).expect("the agent");
        std::fs::write(at("bin/npm"), NPM).expect("npm");
        std::fs::set_permissions(at("bin/npm"), PermissionsExt::from_mode(0o755)).expect("npm");
        for pipe in ["word", "never"] {
            nix::unistd::mkfifo(&at(pipe), mode).expect("a named pipe");
            // whichever user the agent is in its sandbox
            std::fs::set_permissions(at(pipe), PermissionsExt::from_mode(0o666)).expect("a named pipe");
        }
        // held at both ends, so that no side waits for the other to open it
        let words = File::options().read(true).write(true).open(at("word")).expect("a named pipe");
        Place { words: BufReader::new(words), dir }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn upstream(&self, seconds: u32) -> Command {
        let own = Path::new(env!("CARGO_BIN_EXE_rehang"));
        let path = format!("{}:{}", self.at("bin").display(), std::env::var("PATH").unwrap_or_default());
        let mut command = Command::new(own);
        command.args(["upstream", "small@1.0.0", "text", "question", "--terminal", "null", "--jobs", "1"]);
        command.args(["--clock", "wall", "--deadline", &seconds.to_string(), "--format", "json"]);
        command.arg("--agents").arg(self.at("agents")).arg("--results").arg(self.at("rows"));
        // outside of the repository: the scenarios are those inside the binary
        command.current_dir(self.dir.path());
        command.env("PATH", path).env("REHANG_CACHE", self.at("cache")).env("STUB", self.dir.path());
        command.env("REHANG_FAKES", own).stdin(Stdio::null()).stdout(Stdio::piped());
        command
    }

    /// Kills a run at this word of its agent or its installer, and waits until all that it started is over.
    fn kill_at(&mut self, word: &str, mut command: Command) {
        let mut run = command.spawn().expect("rehang runs");
        let mut said = String::new();
        self.words.read_line(&mut said).expect("a word");
        assert_eq!(said.trim_end(), word);
        run.kill().expect("it is killed");
        run.wait().expect("it is over");
        // What it started comes to this process, and waiting ends when the last is gone. A namespace and its mounts live
        // as long as a process in them.
        // SAFETY: takes no pointer.
        unsafe { libc::alarm(CEILING_S) };
        let mut ended = 0;
        while nix::sys::wait::waitpid(None, None).is_ok() {
            ended += 1;
        }
        // SAFETY: takes no pointer.
        unsafe { libc::alarm(0) };
        assert!(ended >= 1, "there was nothing to end at `{word}`");
    }

    /// The scenarios of the results file, with their outcomes; a row that was cut off is none.
    fn rows(&self) -> Vec<(String, String)> {
        let text = std::fs::read_to_string(self.at("rows")).unwrap_or_default();
        let rows = text.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
        let of = |row: &serde_json::Value, key: &str| row[key].as_str().unwrap_or_default().to_owned();
        rows.map(|row| (of(&row, "scenario"), of(&row, "outcome"))).collect()
    }

    fn installs(&self) -> usize {
        std::fs::read_to_string(self.at("installs")).unwrap_or_default().lines().count()
    }

    fn release(&self) -> PathBuf {
        self.at("cache/npm/small/1.0.0")
    }
}

fn code(out: &Output) -> Option<i32> {
    out.status.code()
}

fn mounts() -> String {
    std::fs::read_to_string("/proc/self/mountinfo").expect("the mounts")
}

/// Plays the test of this part.
pub fn play(arguments: Arguments) -> ExitCode {
    let test = || {
        a_killed_run_leaves_nothing_and_the_next_goes_on();
        Ok(())
    };
    let trial = Trial::test("a_killed_run_leaves_nothing_and_the_next_goes_on", test);
    libtest_mimic::run(&arguments, vec![trial]).exit_code()
}

fn a_killed_run_leaves_nothing_and_the_next_goes_on() {
    nix::sys::prctl::set_child_subreaper(true).expect("a subreaper");
    let mut place = Place::new();
    let before = mounts();

    // while it installs: half of a package is no release
    let mut command = place.upstream(3_600);
    command.env("STUB_HALF", "1");
    place.kill_at("half", command);
    assert!(!place.release().exists());
    assert_eq!((place.rows(), place.installs()), (Vec::new(), 1));

    // while an agent runs: the half is thrown away, the release is whole, the row of the cell before is kept
    let command = place.upstream(3_600);
    place.kill_at("stays", command);
    let row = |scenario: &str, outcome: &str| (scenario.to_owned(), outcome.to_owned());
    assert_eq!((place.rows(), place.installs()), (vec![row("question", "completed")], 2));
    assert_eq!(std::fs::read_to_string(place.release().join("node_modules/small/agent.py")).expect("it"), PROGRAM);
    let lock = std::fs::read_to_string(place.at("cache/rehang.lock")).expect("the lock file");
    let lock: serde_json::Value = serde_json::from_str(&lock).expect("it is whole");
    assert_eq!(lock["releases"]["npm:small@1.0.0"]["small@1.0.0"], "sha512-abc");
    assert_eq!(std::fs::read_dir(place.at("cache/staging")).expect("a folder").count(), 0);

    // the next run goes on: with the other cell, and without the registry
    let out = place.upstream(5).output().expect("rehang runs");
    assert_eq!(code(&out), Some(0), "{}", String::from_utf8_lossy(&out.stdout));
    assert_eq!((place.rows(), place.installs()), (vec![row("question", "completed"), row("text", "hung")], 2));
    assert_eq!(mounts(), before);
}
