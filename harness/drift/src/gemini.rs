//! Gemini CLI's events and texts: the same input gives the same lines.
//!
//! Times, ids and pids are named; [`LEFT_OUT`] and [`VARYING`] are all else that is not compared. A run with `-o json`
//! prints one object over many lines, which is compared as the object that it is.

use serde_json::{Map, Value, json};

/// What the fake leaves out on purpose: a pattern of keys from the event's top, and why.
pub const LEFT_OUT: &[(&str, &str)] = &[
    ("parameters.description", "a scenario's bash turn has a command and no description of it"),
    ("parameters.prompt", "the model server marks in it which subagent's turns are meant"),
    ("stats.models", "the models are the vendor's names, and one of them only routes: it has no turn in a scenario"),
];

/// Keys whose values are times, or count tokens, which the router's request has too.
pub const VARYING: &[&str] = &["timestamp", "duration_ms", "total_tokens", "input_tokens", "output_tokens", "input"];

/// Where the order of keys is the model server's.
const ORDERED_BY_MODEL: &str = "parameters";

/// The lines of a run as they are compared.
pub fn normal(lines: &[Value]) -> Vec<Value> {
    let text: Option<Vec<&str>> = lines.iter().map(Value::as_str).collect();
    let object = text.and_then(|lines| serde_json::from_str::<Value>(&lines.join("\n")).ok()).filter(Value::is_object);
    let mut ids = Vec::new();
    let all = object.as_ref().map_or(lines, std::slice::from_ref);
    all.iter().map(|line| normal_value(line, &mut Vec::new(), &mut ids)).collect()
}

fn normal_value(value: &Value, at: &mut Vec<String>, ids: &mut Vec<String>) -> Value {
    match value {
        Value::Object(map) => {
            let mut map: Vec<_> = map.iter().collect();
            if at.join(".") == ORDERED_BY_MODEL {
                map.sort_by_key(|(key, _)| key.as_str());
            }
            let mut all = Map::new();
            for (key, value) in map {
                at.push(key.clone());
                let path = at.join(".");
                let is_id = matches!(key.as_str(), "session_id" | "tool_id");
                if !LEFT_OUT.iter().any(|(pattern, _)| *pattern == path) {
                    let value = match value {
                        _ if VARYING.contains(&key.as_str()) => json!("~"),
                        Value::String(id) if is_id => json!(numbered(id, ids)),
                        value => normal_value(value, at, ids),
                    };
                    all.insert(key.clone(), value);
                }
                at.pop();
            }
            Value::Object(all)
        }
        Value::Array(list) => list.iter().map(|value| normal_value(value, at, ids)).collect(),
        Value::String(text) => json!(without_pids(text)),
        other => other.clone(),
    }
}

/// The place of an id by first appearance, after the tool that some releases put before it.
fn numbered(id: &str, ids: &mut Vec<String>) -> String {
    let n = ids.iter().position(|known| known == id).unwrap_or_else(|| {
        ids.push(id.to_owned());
        ids.len() - 1
    });
    let tool = id.split_once("__").map_or(String::new(), |(tool, _)| format!("{tool}__"));
    format!("{tool}#{n}")
}

/// A command's result names pids, which are others in each run.
fn without_pids(text: &str) -> String {
    let line =
        |line: &str| match ["Process Group PGID: ", "Background PIDs: "].into_iter().find(|m| line.starts_with(m)) {
            Some(mark) if line[mark.len()..].starts_with(|c: char| c.is_ascii_digit()) => format!("{mark}~"),
            _ => line.to_owned(),
        };
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}
