//! What `codex exec` writes, the fake's against a release's: stdout line by line, and stderr too if it was recorded.
//!
//! Invariant: every line is compared, in order and key by key, except those of [`LEFT_OUT`]; within a line everything is,
//! except what [`VARYING`] names.

use crate::Compared;
use crate::claude::Ends;
use crate::session::Setup;
use regex::Regex;
use rehang_os::os::Exit;
use serde_json::Value;
use std::sync::LazyLock;

/// Lines of stderr that the fake leaves out on purpose: what they contain, and why.
pub const LEFT_OUT: &[(&str, &str)] = &[
    ("warning: Codex could not find ", "the machine on which the release was recorded has no bubblewrap"),
    (" ERROR codex_core::", "the release's own log, with instants; what it says is on stdout too"),
];

/// What varies within a line: a pattern, what is compared in its place, and why.
pub const VARYING: &[(&str, &str, &str)] = &[
    (r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "THREAD", "ids are drawn"),
    (r"Chunk ID: [0-9a-f]{6}", "Chunk ID: ~", "ids are drawn"),
    (r"session ID \d+", "session ID ~", "ids are drawn"),
    (r"Wall time: [\d.]+ seconds", "Wall time: ~", "the release measures on the wall clock"),
    (r"timed out after \d+ milliseconds", "timed out after ~", "the release measures on the wall clock"),
    (r" in \d+ms:$", " in ~:", "the release measures on the wall clock"),
    (r"; retrying (\d)/(\d) in [\d.]+m?s…", "; retrying $1/$2 in ~…", "the release adds or takes up to 10 % at random"),
    (r"^workdir: .*", "workdir: ~", "the folder in which the release was recorded"),
];

/// The most deadlines of a fake for which time is moved on.
const TICKS_MAX: u32 = 1_000;

/// Plays an exchange and compares what comes out; `err`: the lines of stderr, if they were recorded.
pub fn compare(setup: Setup, out: &[Value], err: Option<&[Value]>, ends: &Ends) -> Compared {
    let mut compared = Compared::default();
    let mut session = setup.run();
    for _ in 0..TICKS_MAX {
        if session.exit.is_some() || !session.tick() {
            break;
        }
    }
    compared.lists("stdout", &normal(out), &normal(&session.messages()));
    if let Some(err) = err {
        let said: Vec<Value> = session.err.lines().map(line).collect();
        compared.lists("stderr", &normal(err), &normal(&said));
    }
    let same = match ends {
        Ends::Exit(code) => session.exit == Some(Exit::Code(*code)),
        // From outside, a tool that waits for a pipe is seen to wait for the pipe.
        Ends::Hangs(on) => session.exit.is_none() && session.waits_for(if on == "pipe" { "bash" } else { on }),
    };
    // A release that hangs before it says anything has its end alone to compare.
    compared.events += 1;
    if !same {
        compared.differ("its end", format!("{ends:?}"), format!("{:?}, {:?}", session.exit, session.waits()));
    }
    compared.asked = session.asked;
    compared
}

/// A line as a recording has it: JSON if it is JSON.
fn line(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| Value::from(text))
}

/// The lines without those that are left out, and with what varies replaced. No recording has blank lines.
fn normal(lines: &[Value]) -> Vec<Value> {
    let is_out = |text: &str| text.trim().is_empty() || LEFT_OUT.iter().any(|(contains, _)| text.contains(contains));
    lines.iter().filter(|line| !line.as_str().is_some_and(is_out)).map(masked).collect()
}

fn masked(value: &Value) -> Value {
    static PATTERNS: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
        let compiled =
            |(pattern, to, _): &(&str, &'static str, &str)| Regex::new(pattern).ok().map(|regex| (regex, *to));
        VARYING.iter().filter_map(compiled).collect()
    });
    match value {
        Value::String(text) => {
            let all = |text: String, (regex, to): &(Regex, &str)| regex.replace_all(&text, *to).into_owned();
            Value::from(PATTERNS.iter().fold(text.clone(), all))
        }
        Value::Array(list) => list.iter().map(masked).collect(),
        Value::Object(map) => map.iter().map(|(key, value)| (key.clone(), masked(value))).collect(),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn each_pattern_is_one_and_replaces_only_what_varies() {
        assert!(VARYING.iter().all(|(pattern, ..)| Regex::new(pattern).is_ok()));
        let said = json!({"thread_id": "0198a1b2-0000-7000-8000-00000000abcd", "text":
            "Chunk ID: 7dfd8e\nWall time: 0.0513 seconds\nProcess running with session ID 81482\nOutput:\n12 seconds"});
        let wanted = json!({"thread_id": "THREAD", "text":
            "Chunk ID: ~\nWall time: ~\nProcess running with session ID ~\nOutput:\n12 seconds"});
        assert_eq!(masked(&said), wanted);
        assert_eq!(masked(&json!("why; retrying 4/5 in 1.697s…")), "why; retrying 4/5 in ~…");
        assert_eq!(normal(&[json!("2026-11-23T19:00:00Z ERROR codex_core::session: x"), json!(13)]), [json!(13)]);
    }
}
