//! What the last lines of a program say that it waits for: a log-in, a tool server, a lock, a server on the network.
//!
//! Invariant: only the last [`LINES`] lines count, and the line is quoted.

use super::{Guess, Hang, Sure, found, quoted};
use crate::story::Printed;

/// The last lines that may say so. A choice: what comes after it would be what came of it.
const LINES: usize = 3;

/// What the last lines say that it waits for.
pub(super) fn at_end(lines: &[&Printed]) -> Option<Guess> {
    let from = lines.len().saturating_sub(LINES);
    let last: Vec<&str> = lines[from..].iter().map(|line| line.text.trim()).collect();
    for (place, line) in last.iter().enumerate().rev() {
        let low: String = line.chars().take(400).collect::<String>().to_lowercase();
        if let Some(guess) = of_line(line, &low, place + 1 == last.len()) {
            return Some(guess);
        }
        // what comes after a log-in's words, and belongs to it
        if !["http://", "https://", "code", "press ", "waiting", "browser", "expire"]
            .iter()
            .any(|word| low.contains(word))
        {
            return None;
        }
    }
    None
}

/// A request to the model that opencode's own log begins, and after which nothing came.
pub(super) fn on_model(lines: &[&Printed]) -> Option<Guess> {
    let line = lines.last()?.text.trim();
    let of_model = line.contains("service=llm ") && line.contains("modelID=") && line.ends_with(" stream");
    let why = format!("a request to the model began, and no line came after it: {}", quoted(line));
    let others = vec![("F2", "the model may only be slow".to_owned())];
    of_model.then(|| found("M1", Sure::Likely, vec![why], others, Hang::Program))
}

/// The line with which a test runner says that it has done its work and did not exit, if nothing but its advice comes
/// after it.
pub(super) fn lives_on<'a>(lines: &[&'a Printed]) -> Option<&'a str> {
    let has = |line: &str, all: &[&str]| all.iter().any(|words| line.to_lowercase().contains(words));
    let mut last = lines.iter().rev().map(|line| line.text.trim());
    last.find(|line| !has(line, &ADVICE)).filter(|line| has(line, &LIVES_ON))
}

/// What the advice that comes with those words says: Jest's, Vitest's.
const ADVICE: [&str; 3] =
    ["this usually means that there are asynchronous", "--detectopenhandles", "you can try to identify the cause"];
/// What says that something keeps a process alive: Jest, Vitest.
const LIVES_ON: [&str; 3] = [
    "did not exit one second after the test run",
    "something prevents the main process from exiting",
    "something prevents vite server from exiting",
];

/// What one line says.
fn of_line(line: &str, low: &str, is_last: bool) -> Option<Guess> {
    let has = |words: &[&str]| words.iter().any(|word| low.contains(word));
    if has(&OVER) {
        return None;
    }
    let url = has(&["http://", "https://"]);
    let goes = |others: Vec<(&'static str, String)>, mechanism, why: &str| {
        Some(found(mechanism, Sure::Likely, vec![format!("{why}: {}", quoted(line))], others, Hang::Program))
    };
    if has(&CODES) || url && has(&LOGINS) && has(&ASKS) || has(&BROWSER) {
        let others = vec![("F4", "somebody may log in, and only be slow".to_owned())];
        return goes(others, "X4", "a log-in waits for somebody");
    }
    if !is_last {
        return None;
    }
    if has(&["mcp", "tool server", "toolserver"]) && has(&STARTS) {
        let others = vec![("X6", "the server may wait for the network at its start".to_owned())];
        return goes(others, "X1", "a tool server is started and is not ready");
    }
    if has(&["database is locked", "sqlite_busy", "database lock"]) {
        return goes(Vec::new(), "R1", "a database is locked");
    }
    if has(&LOCKS) {
        return goes(Vec::new(), "R2", "it says that it waits for a lock");
    }
    if has(&FETCHES) && !low.contains('%') {
        return goes(
            vec![("F2", "the network may only be slow".to_owned())],
            "X6",
            "it says that it fetches something",
        );
    }
    None
}

/// What says that the wait is over, or was never one.
const OVER: [&str; 9] = [
    "logged in",
    "login successful",
    "authenticated as",
    "signed in",
    "acquired",
    "succeeded",
    "connected in",
    "failed",
    "timed out",
];
/// A code to be typed elsewhere.
const CODES: [&str; 8] = [
    "one-time code",
    "device code",
    "user code:",
    "enter the code",
    "enter code",
    "verification code",
    "/login/device",
    "pairing code",
];
const LOGINS: [&str; 12] = [
    "log in",
    "login",
    "sign in",
    "signin",
    "authenticate",
    "authentication",
    "authorize",
    "authorise",
    "oauth",
    "device",
    "continue in your web browser",
    "in your browser",
];
/// What asks somebody to go to an address.
const ASKS: [&str; 9] =
    ["open ", "visit", "go to", "browse to", "navigate", "click", "opening", "please ", "to continue"];
const BROWSER: [&str; 8] = [
    "waiting for authentication",
    "waiting for authorization",
    "waiting for login",
    "waiting for log-in",
    "waiting for sign-in",
    "waiting for browser",
    "waiting for the browser",
    "complete the login in your browser",
];
/// What says that a server is not ready.
const STARTS: [&str; 9] = [
    "connecting",
    "starting",
    "initializing",
    "initialising",
    "handshake",
    "waiting",
    "not ready",
    "pending",
    "launching",
];
const LOCKS: [&str; 10] = [
    "waiting for file lock",
    "waiting for lock",
    "waiting for a lock",
    "waiting for the lock",
    "waiting for cache lock",
    "could not get lock",
    "waiting to acquire",
    "blocked on lock",
    "lock is held by",
    "acquiring lock",
];
const FETCHES: [&str; 9] = [
    "fetching models",
    "fetching model list",
    "fetching list of models",
    "fetching metadata",
    "fetching plugin",
    "checking for updates",
    "checking for update",
    "downloading update",
    "fetching package",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_say_what_it_waits_for() {
        for (lines, is) in [
            (&["Copy this one-time code: WXYZ-9876", "Press Enter to open https://x.example"][..], Some("X4")),
            (&["Copy this one-time code: WXYZ-9876", "working"], None),
            (&["Please visit https://auth.example/x to sign in"], Some("X4")),
            (&["Waiting for authentication..."], Some("X4")),
            (&["Please visit https://auth.example/x to sign in", "Logged in as me"], None),
            (&["see https://example.com/docs"], None),
            (&["MCP server \"db\": connecting"], Some("X1")),
            (&["MCP server \"db\": connecting", "thinking"], None),
            (&["MCP server db failed, starting without it"], None),
            (&["    Blocking waiting for file lock on build directory"], Some("R2")),
            (&["Checking for updates..."], Some("X6")),
            (&["Checking for updates... 40%"], None),
            (&[], None),
        ] {
            let printed: Vec<Printed> = lines
                .iter()
                .map(|line| Printed {
                    at: 0,
                    order: 0,
                    stderr: false,
                    logged: false,
                    text: (*line).to_owned(),
                    whole: true,
                })
                .collect();
            let all: Vec<&Printed> = printed.iter().collect();
            assert_eq!(at_end(&all).map(|guess| guess.mechanism), is, "{lines:?}");
        }
    }
}
