//! `rehang warp`: exit codes, what it says, and its JSON.
//!
//! Virtual times are asserted, never real ones.

use std::process::{Command, Stdio};

/// The exit code and what was said on stderr.
fn warp(args: &[&str], command: &[&str]) -> (Option<i32>, String) {
    let mut all = Command::new(env!("CARGO_BIN_EXE_rehang"));
    all.arg("warp").args(args).arg("--").args(command).stdin(Stdio::null());
    let output = all.output().expect("rehang");
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn the_exit_code_is_the_command_s_and_the_last_deadline_is_named() {
    let (code, said) = warp(&[], &["timeout", "1800", "sleep", "999999"]);
    assert_eq!(code, Some(124));
    assert!(said.starts_with("rehang: exit code 124 after 1800 s of virtual time ("), "{said}");
    assert!(said.contains("last deadline: timer_settime of timeout ("), "{said}");
    assert_eq!(warp(&["-q"], &["sh", "-c", "sleep 60; exit 7"]), (Some(7), String::new()));
    assert_eq!(warp(&["-q"], &["sh", "-c", "kill -TERM $$"]), (Some(128 + 15), String::new()));
}

#[test]
fn a_deadlock_is_3_and_says_who_waits_for_whom() {
    let (code, said) =
        warp(&[], &["bash", "-c", "d=$(mktemp -d); mkfifo $d/f; exec 9<>$d/f; rm -r $d; cat <&9 & wait"]);
    assert_eq!(code, Some(3), "{said}");
    assert!(said.contains("deadlock, proved, after 0 s of virtual time"), "{said}");
    assert!(said.contains("in wait4 waits for a child (by "), "{said}");
}

#[test]
fn a_ticker_is_124_with_its_periods_and_the_json_has_the_same() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("end.json");
    let options = ["--until", "2h", "--json", path.to_str().expect("a path")];
    let (code, said) = warp(&options, &["sh", "-c", "while :; do sleep 60; done"]);
    assert_eq!(code, Some(124));
    assert!(said.contains("clock_nanosleep of sleep: 120 times, 60 s each"), "{said}");
    let text = std::fs::read_to_string(path).expect("a file");
    let json: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!((&json["verdict"], &json["virtual_seconds"]), (&"horizon".into(), &7200.0.into()));
    assert_eq!((&json["timers"][0]["count"], &json["repeatable"]), (&120.into(), &true.into()));
}

#[test]
fn what_cannot_be_run_is_126_or_127() {
    assert_eq!(warp(&[], &["/does/not/exist"]).0, Some(127));
    assert_eq!(warp(&[], &["/etc/passwd"]).0, Some(126));
    assert_eq!(warp(&["--start", "yesterday"], &["true"]).0, Some(2));
}

#[test]
fn what_reads_proc_in_virtual_time_sees_the_tree_as_it_would_be_without_the_tracer() {
    let rehang = env!("CARGO_BIN_EXE_rehang");
    let script = format!("sleep 1000 & sleep 100; exec {rehang} why --json $!");
    let mut all = Command::new(rehang);
    let output = all.args(["warp", "-q", "--", "sh", "-c", &script]).stdin(Stdio::null()).output().expect("rehang");
    let found: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let sentence = found["sentence"].as_str().unwrap_or_default();
    assert!(found["verdict"] == "waiting" && sentence.contains("(at most 16m40s)"), "{found:#}");
    let tree = found["evidence"][0]["text"].as_str().unwrap_or_default();
    assert!(tree.contains("1m41s old"), "{tree}");
}

#[test]
fn supervise_has_its_limits_in_virtual_time() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let end = path("end.json");
    let evidence = path("kept");
    let run = |command: &[&str]| {
        let supervise = [env!("CARGO_BIN_EXE_rehang"), "supervise", "--evidence", &evidence, "--"];
        let (code, said) = warp(&["-q", "--json", &end], &[&supervise, command].concat());
        let json: serde_json::Value =
            serde_json::from_str(&std::fs::read_to_string(&end).expect("a file")).expect("JSON");
        (code, said, json["virtual_seconds"].as_f64().expect("a time"))
    };
    // a timer is left, so it is left alone; each look must see how much of it
    assert_eq!(run(&["sh", "-c", "sleep 3000; exit 7"]), (Some(7), String::new(), 3000.0));
    let (code, said, at) = run(&["sleep", "infinity"]);
    assert!(code == Some(123) && said.contains("[never-ends, guard-process]"), "{said}");
    // the first look after 10 s, and three that agree in half a minute; a look at another test's processes may find somebody
    // who could end it, and then it has the five minutes of a command that never ends
    assert!((40.0..900.0).contains(&at), "{at}");
}
