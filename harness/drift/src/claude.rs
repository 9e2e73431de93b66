//! Claude Code's stream-json exchanges: the same input gives the same messages.
//!
//! The fake must write what was recorded, in order, key for key, once ids, times, costs and usage are normalised.
//! [`LEFT_OUT`], [`VARYING`] and [`ORDERED_BY_MODEL`] are all that is not compared.

use regex::Regex;
use serde_json::{Map, Value, json};
use std::sync::LazyLock;

/// What the fake leaves out on purpose: a pattern of keys from the message's top (`*` is any one), and why.
pub const LEFT_OUT: &[(&str, &str)] = &[
    ("message.content.*.input.description", DESCRIBED),
    ("request.input.description", DESCRIBED),
    ("request.description", DESCRIBED),
    ("request.input.tool_input.description", DESCRIBED),
    ("response.response.categories", MEASURED),
    ("response.response.gridRows", MEASURED),
    ("response.response.totalTokens", MEASURED),
    ("response.response.slashCommands", MEASURED),
    ("response.response.skills", MEASURED),
    ("response.response.messageBreakdown", MEASURED),
    ("description", DESCRIBED),
    ("tasks.*.description", DESCRIBED),
    ("message.content.*.input.prompt", MARKED),
    ("prompt", MARKED),
    ("summary", DESCRIBED),
    ("permission_denials.*.tool_input.description", DESCRIBED),
];
/// The type of what 2.1.329 says every 30 s while a command runs, which the fake does not: messages of this type are left out.
pub const HEARTBEAT: &str = "tool_progress";
const MEASURED: &str = "what the release measures of its own prompt, commands and skills";
const MARKED: &str = "the model server marks in it which subagent's turns are meant";
const DESCRIBED: &str = "a scenario's bash turn has a command and no description of it";

/// Keys whose values are times, costs, usage or pids.
pub const VARYING: &[&str] = &[
    "timestamp",
    "duration_ms",
    "duration_api_ms",
    "retry_delay_ms",
    "ttft_ms",
    "ttft_stream_ms",
    "time_to_request_ms",
    "first_content_frame_ms",
    "total_cost_usd",
    "usage",
    "modelUsage",
    "model_usage_since_last_result",
    "totalDurationMs",
    "totalTokens",
    "totalToolUseCount",
    "harnessSectionHash",
    "pid",
    "run_id",
    "runId",
    "end_time",
    "backgroundTaskId",
];

/// Where the order of keys is the model server's, which the release passes on: patterns as in [`LEFT_OUT`].
pub const ORDERED_BY_MODEL: &[&str] = &["message", "message.content.*.input", "message.content.*.input.questions.*"];

/// The id of a command that runs in the background.
static BACKGROUND: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\bb[0-9a-f]{6}\b").expect("it is a regular expression"));
/// The file of a command's output, and the id of the command that 2.1.329 names.
static OUTPUT_FILE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"/tmp/claude\S*/tasks/b[0-9a-z]+\.output|\(ID: b[0-9a-z]{8}\)").expect("it is a regular expression")
});
/// What a text says of a subagent: its id, and what it has cost.
static SUBAGENT: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(agentId: |to: ')a[0-9a-f]+|(subagent_tokens: |duration_ms: )\d+").expect("it is a regular expression")
});
/// A subagent's id.
static AGENT_ID: LazyLock<Regex> =
    LazyLock::new(|| Regex::new("^a([0-9a-f]{6}|[0-9a-f]{16})$").expect("it is a regular expression"));
/// The mark that the model server puts after a subagent's prompt, to know whose turns are meant; a fake's model needs none.
const MARK: &str = " [task ";

/// The messages of a run as they are compared: each with its ids numbered by first appearance, what varies replaced, what is left out removed.
pub fn normal(messages: &[Value]) -> Vec<Value> {
    let mut ids = Vec::new();
    let messages = messages.iter().filter(|message| message["type"] != HEARTBEAT);
    messages.map(|message| normal_value(message, &mut Vec::new(), &mut ids)).collect()
}

fn normal_value(value: &Value, at: &mut Vec<String>, ids: &mut Vec<String>) -> Value {
    match value {
        Value::Object(map) => {
            let mut all = Map::new();
            let mut map: Vec<_> = map.iter().collect();
            if ORDERED_BY_MODEL.contains(&at.join(".").as_str()) {
                map.sort_by_key(|(key, _)| key.as_str());
            }
            for (key, value) in map {
                at.push(key.clone());
                if !left_out(at) {
                    let varies = VARYING.contains(&key.as_str());
                    all.insert(key.clone(), if varies { json!("~") } else { normal_value(value, at, ids) });
                }
                at.pop();
            }
            Value::Object(all)
        }
        Value::Array(list) => {
            at.push("*".to_owned());
            let list = list.iter().map(|value| normal_value(value, at, ids)).collect();
            at.pop();
            Value::Array(list)
        }
        // Where a release keeps its files depends on the sandbox: the given recordings have one folder for all of them.
        Value::String(text) if is_path(text) => json!("/home/agent/project"),
        Value::String(text) if is_id(text) => {
            let n = ids.iter().position(|id| id == text).unwrap_or_else(|| {
                ids.push(text.clone());
                ids.len() - 1
            });
            Value::from(format!("#{n}"))
        }
        Value::String(text) if OUTPUT_FILE.is_match(text) => {
            let text = OUTPUT_FILE.replace_all(text, "OUTPUT");
            Value::from(BACKGROUND.replace_all(&text, "BASH").into_owned())
        }
        Value::String(text) if BACKGROUND.is_match(text) => {
            Value::from(BACKGROUND.replace_all(text, "BASH").into_owned())
        }
        Value::String(text) if SUBAGENT.is_match(text) => Value::from(SUBAGENT.replace_all(text, "$1$2~").into_owned()),
        Value::String(text) if text.contains(MARK) && text.ends_with(']') => {
            Value::from(text.split(MARK).next().unwrap_or_default())
        }
        other => other.clone(),
    }
}

fn left_out(at: &[String]) -> bool {
    let at = at.join(".");
    LEFT_OUT.iter().any(|(pattern, _)| *pattern == at)
}

fn is_path(text: &str) -> bool {
    let inside = ["/home/agent", "/tmp/", "/run/"].iter().any(|folder| text.starts_with(folder));
    inside && !text.contains(char::is_whitespace)
}

fn is_id(text: &str) -> bool {
    let uuid = text.len() == 36 && text.split('-').map(str::len).eq([8, 4, 4, 4, 12]);
    uuid || AGENT_ID.is_match(text)
        || ["task_", "msg_", "toolu_", "call_", "ses_", "req_"].iter().any(|prefix| text.starts_with(prefix))
}
