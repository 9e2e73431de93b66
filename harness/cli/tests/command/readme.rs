//! The README's commands: each is run as it stands there, in a shell, in a folder that has what it names.
//!
//! Invariant: a command of the README that this table does not know fails the test. What a person has of their own (a
//! process id) is put in; what would take minutes is narrowed by a word, and nothing else is changed.

use std::path::Path;
use std::process::{Command, Stdio};

/// What is changed in a command that cannot be run as it stands: its text, what takes its place.
const NARROWED: [(&str, &str); 5] = [
    ("rehang why 13205", "rehang why $PID --window 10ms"),
    ("rehang wrapper -- ", "rehang wrapper --list benign/text -- "),
    ("rehang conform -- ", "rehang conform cancel/ -- "),
    ("rehang score", "rehang score Q5 --strategy none"),
    ("--accept", "--accept --stage sim"),
];

/// The commands of the README that begin with `rehang`, without their comments.
fn commands(readme: &str) -> Vec<String> {
    let (mut commands, mut fenced) = (Vec::new(), false);
    for line in readme.lines() {
        fenced ^= line.starts_with("```");
        match line.strip_prefix("    rehang ") {
            Some(rest) => commands.push(format!("rehang {}", rest.split("  #").next().unwrap_or(rest).trim())),
            None if !fenced => {
                let code = line.split('`').skip(1).step_by(2).filter(|code| code.starts_with("rehang "));
                commands.extend(code.map(str::to_owned));
            }
            None => {}
        }
    }
    commands
}

#[test]
fn every_command_of_the_readme_can_be_run() {
    let readme =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md")).expect("a page");
    let place = tempfile::tempdir().expect("a folder");
    let folder = place.path();
    let own = Path::new(env!("CARGO_BIN_EXE_rehang"));
    let bin = folder.join("bin");
    std::fs::create_dir_all(folder.join("hangs")).expect("a folder");
    let path = format!("{}:{}", own.parent().expect("a folder").display(), std::env::var("PATH").unwrap_or_default());
    let shell = |line: &str, path: &str, pid: &str| {
        let mut command = Command::new("sh");
        command.args(["-c", line]).current_dir(folder).env("PATH", path).env("PID", pid).env("NO_COLOR", "1");
        command.env("REHANG_FAKES", own).env("REHANG_CACHE", folder.join("cache")).env_remove("CI");
        command.stdin(Stdio::null()).output().expect("a shell")
    };
    assert!(shell("rehang path benign/text --dir bin && rehang new hangs/one.toml", &path, "").status.success());
    assert!(shell("rehang run hangs/ --accept --stage sim", &path, "").status.success());
    std::fs::write(folder.join("run-agent.sh"), "#!/bin/sh\nexec claude -p \"$1\"\n").expect("a file");
    std::fs::write(folder.join("agent.jsonl"), LOG).expect("a file");
    let agent = concat!(env!("CARGO_MANIFEST_DIR"), "/../conform/tests/agent.py");
    std::fs::write(folder.join("my-agent"), format!("#!/bin/sh\nexec python3 -B '{agent}'\n")).expect("a file");
    assert!(shell("chmod +x run-agent.sh my-agent", &path, "").status.success());
    let path = format!("{}:{path}", bin.display());
    let mut waits = Command::new("sleep").arg("1000").stdin(Stdio::null()).spawn().expect("sleep is there");
    let pid = waits.id().to_string();
    let commands = commands(&readme);
    let wrong = |commands: &[&String]| {
        let mut wrong = Vec::new();
        for command in commands {
            // a process that sleeps only waits; a guess about all strategies is wrong until it is accepted
            let line = NARROWED.iter().fold((*command).clone(), |line, (from, to)| line.replace(from, to));
            let out = shell(&line, &path, &pid);
            if out.status.code() != Some(0) {
                let said = [out.stdout, out.stderr].concat();
                wrong.push(format!("{line}: {}: {}", out.status, String::from_utf8_lossy(&said)));
            }
        }
        wrong
    };
    // those of one file build on each other; the others go on beside them
    let (of_file, others): (Vec<_>, Vec<_>) = commands.iter().partition(|command| command.contains("my-hang.toml"));
    assert!(of_file.len() > 2 && others.len() > 2, "{commands:?}");
    let wrong: Vec<String> = std::thread::scope(|scope| {
        let beside = scope.spawn(|| wrong(&others));
        [wrong(&of_file), beside.join().expect("its own failure is printed above")].concat()
    });
    waits.kill().and_then(|()| waits.wait()).expect("it is ours");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(commands.len() >= 11, "{commands:?}");
}

const LOG: &str = r#"{"type":"system","subtype":"init","session_id":"s","tools":[],"model":"m","cwd":"/w"}
{"type":"assistant","message":{"id":"m1","role":"assistant","content":[{"type":"text","text":"Done."}]},"session_id":"s"}
{"type":"result","subtype":"success","is_error":false,"result":"Done.","session_id":"s","num_turns":1}
"#;
