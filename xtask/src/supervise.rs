//! `rehang supervise` around real releases in a hang: is each ended, for the right reason, within a minute and a half?
//!
//! Each release runs under `rehang supervise` in a sandbox of its own, which has only loopback, and both in virtual time; the
//! model server is outside of its process tree. It needs the network to install the releases, so it is not a part of CI.
//!
//! A run that has said its result is taken as over, and its exit code is then the release's own; any other is 123.
//!
//! Invariant: what is expected is written here. A hang that is not ended by then is not right, whatever else was seen.

use crate::tools::{self, Profile};
use serde_json::Value;
use xshell::{Shell, cmd};

/// A release, a scenario, a terminal, and the cause with which it must be ended.
const HANGS: [(&str, &str, &str, &str); 5] = [
    ("opencode@1.2.27", "question", "null", "question-open"),
    ("codex@0.169.0", "stdin-open", "pipe", "stdin-open"),
    // its host, a process in the sandbox, waits for nothing but the agent
    ("claude@2.1.329", "permission/claude-host-mute[2.1.329]", "pipe", "permission-open"),
    // a command that it has moved to the background
    ("claude@2.1.329", "bash-never-ends", "null", "alive-after-result"),
    // its host keeps its stdin open
    ("claude@2.1.329", "alive-after-result", "pipe", "alive-after-result"),
];
/// The longest virtual time from the start to the end, in milliseconds.
const WITHIN_MS: u64 = 90_000;

/// Runs each; returns 1 if one was not ended as expected.
pub fn real(sh: &Shell, filter: Option<&str>) -> xshell::Result<u8> {
    let rehang = tools::built(sh, tools::REHANG, Profile::Dev)?;
    let mut code = 0;
    for (release, scenario, terminal, cause) in HANGS {
        if filter.is_some_and(|filter| ![release, scenario].iter().any(|word| word.contains(filter))) {
            continue;
        }
        let rows = cmd!(
            sh,
            "{rehang} upstream {release} {scenario} --terminal {terminal} --supervised guard --jobs 1 --format json"
        );
        let rows = rows.quiet().read()?;
        let row: Value = rows.lines().next().and_then(|line| serde_json::from_str(line).ok()).unwrap_or_default();
        let events = row["supervised"].as_array().cloned().unwrap_or_default();
        let last = |kind: &str| events.iter().rfind(|event| event["event"] == kind).cloned().unwrap_or_default();
        let (act, end) = (last("act"), last("end"));
        let ms = end["ms"].as_u64().unwrap_or(u64::MAX);
        let is_right = act["cause"] == cause && end["by"] == "guard-process" && ms <= WITHIN_MS;
        let said = match end["ms"].as_u64() {
            Some(ms) => format!("{} s, exit code {}, {}", ms / 1_000, end["code"], end["reason"]),
            None => format!("not ended; the last look: {}; the last plan: {}", last("look"), last("plan")),
        };
        println!("{}  {release} {scenario} {terminal}: {said}", if is_right { "ok    " } else { "WRONG " });
        if !is_right {
            code = 1;
        }
    }
    Ok(code)
}
