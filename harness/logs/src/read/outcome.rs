//! How an event says that something ended: from its exit code, its flags, its status.
//!
//! Invariant: an event that says nothing of it has no outcome; a failure in any member outweighs a success in another.

use super::{claude::flat, some};
use serde_json::Value;

/// How something ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// It went well.
    pub ok: bool,
    /// Somebody stopped it.
    pub aborted: bool,
    /// What is said of it.
    pub text: String,
}

/// Members within which an outcome may be.
const WITHIN: [&str; 9] = ["data", "result", "params", "payload", "turn", "run", "response", "message", "event"];
const CODES: [&str; 7] = ["exitCode", "exit_code", "exitStatus", "exit_status", "returncode", "returnCode", "rc"];
const STATES: [&str; 12] = [
    "status",
    "subtype",
    "state",
    "outcome",
    "stopReason",
    "stop_reason",
    "finish_reason",
    "finishReason",
    "reason",
    "resultType",
    "conclusion",
    "verdict",
];
/// Parts of words that say that it failed.
const FAILS: [&str; 16] = [
    "error",
    "fail",
    "fatal",
    "crash",
    "panic",
    "timeout",
    "timed_out",
    "timed-out",
    "kill",
    "refus",
    "denied",
    "reject",
    "max_t",
    "budget",
    "limit",
    "invalid",
];
/// Parts of words that say that somebody stopped it.
const STOPS: [&str; 4] = ["cancel", "abort", "interrupt", "stopped"];
/// Words that say that it went well.
const GOODS: [&str; 12] = [
    "success",
    "succeeded",
    "successful",
    "completed",
    "complete",
    "ok",
    "done",
    "finished",
    "end_turn",
    "stop",
    "passed",
    "stop_sequence",
];

/// What an event says of an end; `None` if it says nothing.
pub fn outcome(value: &Value) -> Option<Outcome> {
    let within = WITHIN.iter().map(|key| &value[key]).filter(|inner| inner.is_object());
    let (mut good, mut bad) = (false, None);
    for of in std::iter::once(value).chain(within) {
        let (is_good, is_bad) = of_members(of);
        good |= is_good;
        bad = bad.or(is_bad);
    }
    match bad {
        Some(aborted) => Some(Outcome { ok: false, aborted, text: words(value) }),
        None => good.then(|| Outcome { ok: true, aborted: false, text: words(value) }),
    }
}

/// Whether an object says that it went well, and whether it says that it failed; then also whether somebody stopped it.
fn of_members(of: &Value) -> (bool, Option<bool>) {
    let mut good = false;
    for key in ["is_error", "isError", "failed", "timedOut", "timed_out"] {
        match of[key] {
            Value::Bool(true) => return (false, Some(false)),
            Value::Bool(false) => good |= key.ends_with("rror"),
            _ => {}
        }
    }
    for key in ["success", "ok", "succeeded"] {
        match of[key] {
            Value::Bool(true) => good = true,
            Value::Bool(false) => return (false, Some(false)),
            _ => {}
        }
    }
    for key in ["aborted", "cancelled", "canceled", "interrupted"] {
        if of[key] == true {
            return (false, Some(true));
        }
    }
    if let Some(code) = CODES.iter().find_map(|key| of[key].as_i64()) {
        match code {
            0 => good = true,
            130 => return (false, Some(true)),
            _ => return (false, Some(false)),
        }
    }
    if let Some(signal) = some(of, "signal") {
        return (false, Some(signal == "SIGINT"));
    }
    let error = &of["error"];
    let errs = matches!(error, Value::Object(map) if !map.is_empty())
        || error.as_str().is_some_and(|text| !text.is_empty())
        || error == &Value::Bool(true)
        || of["errors"].as_array().is_some_and(|all| !all.is_empty());
    if errs {
        return (false, Some(false));
    }
    for state in STATES.iter().filter_map(|key| of[key].as_str()).filter(|word| word.len() <= 48) {
        match of_word(state) {
            Some(Ok(())) => good = true,
            Some(Err(aborted)) => return (false, Some(aborted)),
            None => {}
        }
    }
    (good, None)
}

/// What a word says of an end: that it went well, or that it did not, and then whether somebody stopped it.
pub fn of_word(word: &str) -> Option<Result<(), bool>> {
    let low = word.to_ascii_lowercase();
    if low.contains(' ') {
        return None;
    }
    if GOODS.contains(&low.as_str()) {
        return Some(Ok(()));
    }
    let has = |parts: &[&str]| parts.iter().any(|part| low.contains(part));
    if has(&STOPS) {
        return Some(Err(true));
    }
    has(&FAILS).then_some(Err(false))
}

/// What is said of an end, in words.
fn words(value: &Value) -> String {
    let error = |of: &Value| {
        let inner = &of["error"];
        some(of, "error").or_else(|| some(inner, "message")).or_else(|| some(&inner["data"], "message"))
    };
    let within = || WITHIN.iter().map(|key| &value[key]).filter(|inner| inner.is_object());
    let said = error(value).or_else(|| within().find_map(error));
    let said =
        said.or_else(|| ["message", "result", "finalText", "text", "summary"].iter().find_map(|key| some(value, key)));
    let said = said.or_else(|| Some(flat(&value["message"]["content"])).filter(|text| !text.is_empty()));
    let code = || {
        let code = |of: &Value| CODES.iter().find_map(|key| of[key].as_i64());
        let code = code(value).or_else(|| within().find_map(code))?;
        Some(format!("exit code {code}"))
    };
    let state = |of: &Value| STATES.iter().find_map(|key| some(of, key));
    let state = || state(value).or_else(|| within().find_map(state));
    said.or_else(code).or_else(state).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_end_is_read_from_whatever_member_says_it() {
        let is = |value: Value| outcome(&value).map(|outcome| (outcome.ok, outcome.aborted));
        let (good, bad, stopped) = (Some((true, false)), Some((false, false)), Some((false, true)));
        for (value, expected) in [
            (json!({"type": "result", "exitCode": 0}), good),
            (json!({"type": "result", "exitCode": 3, "subtype": "success"}), bad),
            (json!({"type": "result", "data": {"exit_code": 2}}), bad),
            (json!({"is_error": false, "subtype": "success"}), good),
            (json!({"is_error": true, "subtype": "success"}), bad),
            (json!({"status": "completed", "error": {"message": "no"}}), bad),
            (json!({"status": "error_max_turns"}), bad),
            (json!({"result": {"stopReason": "end_turn"}}), good),
            (json!({"result": {"stopReason": "cancelled"}}), stopped),
            (json!({"result": {"stopReason": "refusal"}}), bad),
            (json!({"success": false}), bad),
            (json!({"status": "interrupted"}), stopped),
            (json!({"exitCode": 130}), stopped),
            (json!({"signal": "SIGKILL"}), bad),
            (json!({"error": null, "ok": true}), good),
            (json!({"result": "all the errors are mended"}), None),
            (json!({"type": "result", "sessionId": "s"}), None),
            (json!("failed"), None),
        ] {
            assert_eq!(is(value.clone()), expected, "{value}");
        }
        assert_eq!(outcome(&json!({"exitCode": 3})).map(|o| o.text).as_deref(), Some("exit code 3"));
        assert_eq!(outcome(&json!({"error": {"message": "no key"}})).map(|o| o.text).as_deref(), Some("no key"));
    }
}
