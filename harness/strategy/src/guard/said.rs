//! What a line says, to find out whether it was said before.
//!
//! Invariant: of a message (a line that is a JSON object) only its content counts: names that are given anew each time,
//! instants, spans and costs are not content. So the steps of an agent that asks its model again and again, and gets
//! the same half of an answer, say the same. A line of plain text is taken as a whole: a counter makes it new.

use rehang_words::Canon;
pub(super) use rehang_words::fnv::{START, hash};
use serde_json::Value;
use std::collections::VecDeque;

/// From how many earlier things a thing must differ to be new.
const RECENT: usize = 64;
/// The depth to which a message is looked into; serde_json reads 128 levels.
const DEEP: u32 = 128;
/// Keys, or ends of keys, whose values are not content.
const NO_CONTENT: [&str; 9] = ["id", "ids", "timestamp", "time", "_ms", "tokens", "usage", "cost", "_usd"];

/// Hashes of the last things that were said and were different, the latest last.
#[derive(Debug, Default)]
pub(super) struct Recent(VecDeque<u64>);

impl Recent {
    /// Whether it was not said a moment ago; from now on it was.
    pub(super) fn is_news(&mut self, said: u64) -> bool {
        let known = self.0.len();
        self.0.retain(|old| *old != said);
        let is_news = self.0.len() == known;
        self.0.push_back(said);
        if self.0.len() > RECENT {
            self.0.pop_front();
        }
        is_news
    }

    pub(super) fn canon(&self, canon: &mut Canon) {
        let Self(all) = self;
        canon.num(all.len() as u64);
        for said in all {
            canon.num(*said);
        }
    }
}

/// Continues a hash with the content of a message.
pub(super) fn content(begun: u64, message: &Value) -> u64 {
    walk(begun, message, DEEP)
}

fn walk(begun: u64, value: &Value, deep: u32) -> u64 {
    match value {
        _ if deep == 0 => begun,
        Value::Object(all) => {
            let all = all.iter().filter(|(key, _)| is_content(key));
            let inside = all.fold(hash(begun, b"{"), |hashed, (key, value)| {
                walk(hash(hash(hashed, key.as_bytes()), b":"), value, deep - 1)
            });
            hash(inside, b"}")
        }
        Value::Array(all) => {
            let each = |hashed, value| walk(hash(hashed, b","), value, deep - 1);
            hash(all.iter().fold(hash(begun, b"["), each), b"]")
        }
        other => hash(begun, other.to_string().as_bytes()),
    }
}

fn is_content(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    !NO_CONTENT.iter().any(|end| key.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HASH: u64 = 7;
    use serde_json::json;

    #[test]
    fn a_message_is_its_content() {
        let step = |id: &str, at: u64, text: &str| {
            content(
                0,
                &json!({"type": "text", "timestamp": at, "part": {"id": id, "messageID": id, "text": text, "time": {"start": at}}}),
            )
        };
        assert_eq!(step("prt_1", 1, "half"), step("prt_2", 30_001, "half"), "said again");
        assert_ne!(step("prt_1", 1, "half"), step("prt_1", 1, "whole"));
        assert_ne!(content(0, &json!({"a": "b"})), content(0, &json!({"b": "a"})));
        assert_ne!(content(0, &json!([[1], 2])), content(0, &json!([[1, 2]])));
        assert_ne!(content(0, &json!([{"a": 1}, {"b": 2}])), content(0, &json!([{"a": 1, "b": 2}])));
        assert_ne!(content(0, &json!(["ab"])), content(0, &json!(["a", "b"])));
    }

    #[test]
    fn what_is_given_anew_each_time_is_no_content() {
        let counts = |key: &str| content(HASH, &json!({ key: 1 })) != content(HASH, &json!({ key: 2 }));
        for key in NO_CONTENT {
            assert!(!counts(key) && !counts(&format!("a{key}")) && !counts(&key.to_uppercase()), "{key}");
        }
        for key in ["text", "identity", "timer", "usd"] {
            assert!(counts(key), "{key}");
        }
        assert_ne!(content(HASH, &json!({})), content(HASH, &json!([])));
        assert_ne!(content(HASH, &json!({"a": {"b": 1}})), content(HASH, &json!({"a": {"b": 2}})));
        assert_ne!(hash(HASH, b"a"), HASH);
        assert_eq!(hash(hash(HASH, b"a"), b"b"), hash(HASH, b"ab"));
    }

    #[test]
    fn a_message_is_looked_into_to_its_full_depth() {
        let nested = |depth: u32, leaf: u32| (0..depth).fold(json!(leaf), |value, _| json!([value]));
        let differ = |depth| content(HASH, &nested(depth, 1)) != content(HASH, &nested(depth, 2));
        assert!(differ(DEEP - 1) && !differ(DEEP));
    }
}
