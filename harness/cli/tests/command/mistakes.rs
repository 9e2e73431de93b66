//! Typical mistakes on the command line: each is answered in at most five lines, with what to do.
//!
//! Invariant: the table names the call, a part of the answer that tells the remedy, and nothing else decides; every call
//! ends with the code for a usage error.

use std::path::Path;
use std::process::{Command, Stdio};

/// The most lines of an answer.
const LINES: usize = 5;

/// A call, and what its answer must have.
const CALLS: [(&[&str], &str); 67] = [
    (&["runn", "ok.toml"], "similar subcommand exists: 'run'"),
    (&["check", "missing.toml"], "`rehang new missing.toml` writes a first scenario"),
    (&["check", "dir"], "no scenario file (*.toml) in dir; `rehang new FILE`"),
    (&["check", "empty.toml"], "empty.toml is empty; `rehang new`"),
    (&["check", "prose.txt"], "this is no scenario file"),
    (&["path", "bash/"], "name one scenario; `bash/` has"),
    (&["check", "quote.toml"], "is the file cut off?"),
    (&["check", "key.toml"], "did you mean `about`?"),
    (&["check", "mechanism.toml"], "the hang catalogue has Q1–Q5"),
    (&["check", "agent.toml"], "did you mean `opencode`?"),
    (&["check", "release.toml"], "it can be `1.0.185`, `1.2.15`"),
    (&["check", "terminal.toml"], "did you mean `null`?"),
    (&["check", "span.toml"], "use ms, s, m or h after a whole number"),
    (&["check", "strategy.toml"], "did you mean `guard`?"),
    (&["check", "control.toml"], "add `[control]` with the one change"),
    (&["check", "outcome.toml"], "did you mean `completed`?"),
    (&["new", "ok.toml"], "ok.toml exists; name a new file"),
    (&["new", "x.toml", "--agent", "cluade"], "did you mean `claude`?"),
    (&["new", "nowhere/x.toml"], "nowhere/x.toml cannot be written: No such file"),
    (&["run", "missing.toml"], "`rehang new missing.toml` writes a first scenario"),
    (&["run", "dir"], "`rehang new FILE` writes a first one"),
    (&["run", "empty.toml"], "empty.toml is empty; `rehang new`"),
    (&["run", "key.toml"], "did you mean `about`?"),
    (&["run", "qestion/"], "did you mean `question/`?"),
    (&["run", "ok.toml", "--strategy", "gaurd"], "did you mean `guard`?"),
    (&["run", "ok.toml", "--terminal", "tyt"], "did you mean `tty`?"),
    (&["run", "ok.toml", "--stage", "real"], "[possible values: sim, lockstep, both, live]"),
    (&["run", "ok.toml", "--stage", "live"], "`rehang upstream AGENT@VERSION`"),
    (&["run", "ok.toml", "--jobs", "0"], "give 1 or more"),
    (&["run", "ok.toml", "--format", "xml"], "[possible values: human, json, junit]"),
    (&["run", "ok.toml", "--seed", "x"], "N or N-M, such as 1-10"),
    (&["run", "ok.toml", "--shard", "5/4"], "K must be from 1 to 4"),
    (&["run", "ok.toml", "--acept"], "a similar argument exists: '--accept'"),
    (&["run", "ok.toml", "--last-failed", "x"], "cannot be used with '--last-failed'"),
    (&["why", "%"], "neither a process id nor a name; `ps -e` names all"),
    (&["why", "abc"], "no process is called abc; `ps -e` names them all"),
    (&["why", "999999999"], "`ps -e` names all"),
    (&["why", "-5"], "-5 is no process id"),
    (&["why", "--name", "nosuchprogram"], "`ps -e` names them all"),
    (&["why", "1", "--window", "soon"], "`250ms`, `2s`, `15m`, `4h`"),
    (&["why", "1", "--scenario", "ok.toml"], "ok.toml exists; name a new file"),
    (&["import"], "for example: rehang import agent.jsonl"),
    (&["import", "missing.jsonl"], "name the log, or `-` for stdin"),
    (&["import", "prose.txt"], "`--format plain` takes it"),
    (&["import", "nothing.log"], "`rehang new FILE --agent codex`"),
    (&["import", "prose.txt", "--turns", "0"], "give 1 or more"),
    (&["import", "bytes.log"], "--format names one of claude"),
    (&["import", "dir"], "dir is a folder: name the log in it"),
    (&["import", "prose.txt", "--format", "cluade"], "did you mean `claude`?"),
    (&["import", "prose.txt", "--hung", "--completed"], "cannot be used with '--completed'"),
    (&["import", "prose.txt", "--alive-after", "0s"], "from 1ms to 720h"),
    (&["import", "prose.txt", "--out", "ok.toml"], "ok.toml exists; name a new file"),
    (&["upstream", "opencode@1.3.0", "--why"], "`--why` needs the wall clock: add `--clock wall`"),
    (
        &["upstream", "opencode@1.3.0", "--clock", "wall", "--until", "1h"],
        "`--until` has no meaning with `--clock wall`",
    ),
    (&["wrapper"], "for example: rehang wrapper -- ./run-agent.sh"),
    (&["wrapper", "./run.sh"], "for example: rehang wrapper -- ./run-agent.sh"),
    (&["wrapper", "--", "./nosuch.sh"], "give its path, or the name of one on PATH"),
    (&["wrapper", "--", "./prose.txt"], "chmod +x"),
    (&["wrapper", "--", "echo", "hi"], "started none of claude, opencode, altimate, pawwork, codex, gemini from PATH"),
    (&["wrapper", "--deadline", "0s", "--", "true"], "a day is the default"),
    (&["wrapper", "--deadline", "5", "--", "true"], "write `5s` or `5ms`"),
    (&["wrapper", "nosuchscenario", "--", "sh", "-c", "claude -p go"], "`rehang list --files` names all"),
    (&["conform"], "for example: rehang conform -- ./my-agent --acp"),
    (&["conform", "--", "./nosuch.sh"], "give its path, or the name of one on PATH"),
    (&["conform", "--", "./prose.txt"], "chmod +x"),
    (&["conform", "--until", "5m", "--", "true"], "give at least 1h"),
    (&["conform", "--model", "cluade", "--", "true"], "did you mean `claude`?"),
];

/// The files of the calls: a right one, and copies with one mistake each.
fn files(folder: &Path) {
    let write = |name: &str, text: &[u8]| std::fs::write(folder.join(name), text).expect("a file");
    std::fs::create_dir(folder.join("dir")).expect("a folder");
    assert!(call(folder, &["new", "ok.toml"]).0.contains("wrote ok.toml"));
    let right = std::fs::read_to_string(folder.join("ok.toml")).expect("it was written");
    let wrong = |name: &str, from: &str, to: &str| {
        assert!(right.contains(from), "{from}");
        write(name, right.replacen(from, to, 1).as_bytes());
    };
    wrong("key.toml", "mechanism =", "abuot = \"x\"\nmechanism =");
    wrong("mechanism.toml", "\"Q1\"", "\"Q99\"");
    wrong("agent.toml", "opencode = {", "opncode = {");
    wrong("release.toml", "1.2.15", "9.9.9");
    wrong("terminal.toml", "\"null\"", "\"nul\"");
    wrong("span.toml", "\"2s\"", "\"2 parsecs\"");
    wrong("strategy.toml", "strategies = [\"none\"]", "strategies = [\"none\", \"gaurd\"]");
    wrong("outcome.toml", "\"as none\" ", "\"compleeted\" ");
    wrong("control.toml", &right[right.find("[control]").expect("it has one")..], "");
    write("quote.toml", format!("{right}\nabout = \"cut").as_bytes());
    write("empty.toml", b"");
    write("prose.txt", b"not a log\nat all\n");
    write("nothing.log", b"");
    write("bytes.log", &[0, 159, 146, 150, 255, 254, 0, 1].repeat(40));
}

/// What a call says on both streams, and its exit code.
fn call(folder: &Path, args: &[&str]) -> (String, Option<i32>) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rehang"));
    command.env("REHANG_FAKES", env!("CARGO_BIN_EXE_rehang")).env("NO_COLOR", "1").env_remove("CI");
    command.env("REHANG_CACHE", folder.join("cache")).args(args).current_dir(folder).stdin(Stdio::null());
    let out = command.output().expect("rehang runs");
    let said = [out.stdout, out.stderr].concat();
    (String::from_utf8_lossy(&said).into_owned(), out.status.code())
}

#[test]
fn each_mistake_is_answered_in_few_lines_with_what_to_do() {
    let folder = tempfile::tempdir().expect("a folder");
    files(folder.path());
    let mut wrong = Vec::new();
    for (args, remedy) in CALLS {
        let (said, code) = call(folder.path(), args);
        let lines = said.lines().count();
        if !said.contains(remedy) || lines > LINES || code != Some(2) {
            wrong.push(format!("{args:?}: {lines} lines, {code:?}, not `{remedy}`:\n{said}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), CALLS.len(), wrong.join("\n"));
}
