//! Tells new output from repeated output: a heartbeat, a spinner, a clock on the screen.
//!
//! Invariant: two texts that differ in numbers, ids, times and control sequences alone are the same, so that what
//! repeats itself for ever never counts as progress.

use rehang_scenario::text::without_controls;
use serde_json::Value;
use std::collections::HashSet;

/// The most texts that are remembered; further ones are not new.
const REMEMBERED_MAX: usize = 20_000;
/// Keys whose values are as good as random.
const RANDOM_KEYS: [&str; 10] =
    ["id", "uuid", "time", "timestamp", "duration_ms", "duration_api_ms", "session_id", "cost", "tokens", "usage"];

/// The texts that have been seen.
#[derive(Debug, Default)]
pub struct Novelty {
    seen: HashSet<String>,
}

impl Novelty {
    /// Whether no text like this one was seen before.
    pub fn is_new(&mut self, text: &str) -> bool {
        let plain = match serde_json::from_str::<Value>(text) {
            Ok(value @ (Value::Object(_) | Value::Array(_))) => plain_json(value).to_string(),
            _ => text.to_owned(),
        };
        let plain = plain_text(&plain);
        !plain.is_empty() && self.seen.len() < REMEMBERED_MAX && self.seen.insert(plain)
    }
}

/// The value without what is random.
fn plain_json(value: Value) -> Value {
    match value {
        Value::Object(map) => {
            let random = |key: &str| RANDOM_KEYS.contains(&key) || key.ends_with("ID") || key.ends_with("_id");
            map.into_iter().filter(|(key, _)| !random(key)).map(|(key, value)| (key, plain_json(value))).collect()
        }
        Value::Array(list) => list.into_iter().map(plain_json).collect(),
        other => other,
    }
}

/// Its letters alone: spinners are symbols, and counters digits.
fn plain_text(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in without_controls(text).chars() {
        if c.is_alphabetic() {
            out.push(c);
        } else if !out.ends_with(' ') && !out.is_empty() {
            out.push(' ');
        }
    }
    out.truncate(out.trim_end().len());
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_again_is_not_new() {
        let mut all = Novelty::default();
        for (text, new) in [
            ("⠋ Thinking… (3s)", true),
            ("\u{1b}[2K\u{1b}[1G⠙ Thinking… (4s)", false),
            (r#"{"id":"evt_a1","type":"server.heartbeat","properties":{}}"#, true),
            (r#"{"id":"evt_Zq","type":"server.heartbeat","properties":{}}"#, false),
            (r#"{"type":"message.part.updated","part":{"sessionID":"x","text":"one"}}"#, true),
            (r#"{"type":"message.part.updated","part":{"sessionID":"y","text":"one more"}}"#, true),
            ("", false),
            ("12:30", false),
        ] {
            assert_eq!(all.is_new(text), new, "{text}");
        }
    }
}
