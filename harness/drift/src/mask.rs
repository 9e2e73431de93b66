//! Takes out of a recording what would tell when, where and by whom it was made, and what changes from run to run.
//!
//! Invariants: what was equal stays equal and what was different stays different, within one [`Mask`]; a masked recording
//! that is masked again stays as it is; nothing else is changed, so what is left is what the release said.

use regex::{Captures, Regex};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// Masks the recordings of one run.
#[derive(Debug)]
pub struct Mask {
    folders: Vec<(String, String)>,
    ids: BTreeMap<String, String>,
    counts: BTreeMap<String, u32>,
    first_ms: Option<i64>,
    patterns: Patterns,
}

#[derive(Debug)]
struct Patterns {
    id: Regex,
    uuid: Regex,
    instant: Regex,
}

/// Keys whose values list the vendor's own products, which change with every release and say nothing of how it behaves.
pub const VENDOR_LISTS: &[&str] =
    &["commands", "agents", "models", "slash_commands", "skills", "plugins", "available_output_styles"];

/// Where the clock of a masked recording begins, in milliseconds since 1970 (2023-11-14).
const BEGAN_MS: i64 = 1_700_000_000_000;
/// Numbers between these are instants in milliseconds since 1970 (2017 to 2065).
const INSTANTS_MS: std::ops::Range<i64> = 1_500_000_000_000..3_000_000_000_000;

impl Mask {
    /// A mask that renames these folders: `("/home/real/work", "/home/agent/project")`.
    pub fn new(folders: &[(&str, &str)]) -> Mask {
        let mut folders: Vec<(String, String)> =
            folders.iter().map(|(from, to)| ((*from).to_owned(), (*to).to_owned())).collect();
        folders.sort_by_key(|(from, _)| std::cmp::Reverse(from.len()));
        let compiled = |pattern: &str| Regex::new(pattern).expect("a pattern of ours");
        let patterns = Patterns {
            id: compiled(r"\b(ses|msg|prt|que|per|evt|req)_[0-9A-Za-z]{20,}"),
            uuid: compiled(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"),
            instant: compiled(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"),
        };
        Mask { folders, ids: BTreeMap::new(), counts: BTreeMap::new(), first_ms: None, patterns }
    }

    /// A message or an exchange, masked.
    pub fn value(&mut self, value: &Value) -> Value {
        match value {
            Value::Object(map) => {
                let mut all = Map::new();
                for (key, value) in map {
                    let value = match key.as_str() {
                        "slug" if value.is_string() => json!("slug"),
                        "pid" if value.is_number() => json!(1),
                        "task_id" | "run_id" => self.named(key, value),
                        key if VENDOR_LISTS.contains(&key) && value.is_array() => json!([]),
                        _ => self.value(value),
                    };
                    all.insert(self.text(key), value);
                }
                Value::Object(all)
            }
            Value::Array(list) => Value::Array(list.iter().map(|value| self.value(value)).collect()),
            Value::String(text) => Value::String(self.text(text)),
            Value::Number(number) => match number.as_i64() {
                Some(ms) if INSTANTS_MS.contains(&ms) => {
                    let first = *self.first_ms.get_or_insert(ms);
                    json!(BEGAN_MS + (ms - first))
                }
                _ => value.clone(),
            },
            other => other.clone(),
        }
    }

    /// An id that has no form of its own: known by its key.
    fn named(&mut self, key: &str, value: &Value) -> Value {
        let Some(id) = value.as_str() else { return self.value(value) };
        let kind = key.trim_end_matches("_id");
        let count = self.counts.entry(kind.to_owned()).or_default();
        let name = self.ids.entry(id.to_owned()).or_insert_with(|| {
            *count += 1;
            format!("{kind}_{count:06}")
        });
        json!(name)
    }

    /// A text, masked.
    pub fn text(&mut self, text: &str) -> String {
        let mut text = text.to_owned();
        for (from, to) in &self.folders {
            text = text.replace(from, to);
        }
        let Mask { patterns, ids, counts, .. } = self;
        let mut number = |kind: &str, id: &str, name: &dyn Fn(u32) -> String| {
            ids.entry(id.to_owned())
                .or_insert_with(|| {
                    let count = counts.entry(kind.to_owned()).or_default();
                    *count += 1;
                    name(*count)
                })
                .clone()
        };
        let text = patterns.id.replace_all(&text, |found: &Captures<'_>| {
            number(&found[1], &found[0], &|n| format!("{}_{n:06}", &found[1]))
        });
        let text = patterns.uuid.replace_all(&text, |found: &Captures<'_>| {
            number("uuid", &found[0], &|n| format!("00000000-0000-4000-8000-{n:012}"))
        });
        patterns.instant.replace_all(&text, "2023-11-14T00:00:00.000Z").into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_real_is_left_and_what_was_equal_stays_equal() {
        let mut mask = Mask::new(&[("/tmp/x", "/home/agent"), ("/tmp/x/work", "/home/agent/project")]);
        let real = json!({
            "id": "ses_e0713b32cffe5hTDP3rJZOKgMt", "other": "a ses_e0713b32cffe5hTDP3rJZOKgMt b",
            "next": "ses_e0713b32cffe5hTDP3rJZOKgMu", "slug": "cosmic-comet", "pid": 4711,
            "uuid": "dc52d07a-d36c-42e4-9df7-fe98665bf8fd", "at": "2026-11-21T02:36:45.846Z", "in": "/tmp/x/work/a",
            "home": "/tmp/x/.config", "agents": ["Explore"], "time": {"created": 1_795_177_598_164_i64, "end": 1_795_177_598_200_i64},
            "said": "sessions and messages", "per_turn_effort_active": 7,
            "task_id": "b3gmfvljw", "run_id": "0mwqz28yn-36100f27", "tasks": [{"task_id": "b3gmfvljw"}],
        });
        let masked = mask.value(&real);
        let wanted = json!({
            "id": "ses_000001", "other": "a ses_000001 b", "next": "ses_000002", "slug": "slug", "pid": 1,
            "uuid": "00000000-0000-4000-8000-000000000001", "at": "2023-11-14T00:00:00.000Z",
            "in": "/home/agent/project/a", "home": "/home/agent/.config", "agents": [],
            "time": {"created": 1_700_000_000_000_i64, "end": 1_700_000_000_036_i64},
            "said": "sessions and messages", "per_turn_effort_active": 7,
            "task_id": "task_000001", "run_id": "run_000001", "tasks": [{"task_id": "task_000001"}],
        });
        assert_eq!(masked, wanted);
        let again = Mask::new(&[("/tmp/x", "/home/agent")]).value(&masked);
        assert_eq!(again, masked);
    }
}
