//! Tool calls in the events of an agent whatever their names: ids that open and close.
//!
//! Invariant: an event is looked through up to [`DEPTH`] levels and [`NODES`] values; what has no id is no call.

use super::{claude::flat, on, outcome, questions, some, text};
use crate::note::Calls;
use rehang_scenario::turns::Question;
use serde_json::Value;

/// How deep an event is looked into. A choice.
const DEPTH: usize = 8;
/// How many values of an event are looked at. A choice.
const NODES: usize = 600;

/// What an event says of a call.
#[derive(Debug, Clone, PartialEq)]
pub enum Says {
    /// It begins; what it does.
    Opens(Calls),
    /// It goes on.
    Moves,
    /// It is over.
    Closes {
        /// As an error.
        error: bool,
        /// What it gave.
        text: String,
        /// The exit code.
        code: Option<i64>,
    },
}

/// Members that hold a call's id.
const IDS: [&str; 9] = [
    "call_id",
    "callId",
    "callID",
    "toolCallId",
    "tool_call_id",
    "toolCallID",
    "tool_use_id",
    "toolUseId",
    "toolUseID",
];
/// Members that say what kind of event an object is.
pub const KINDS: [&str; 6] = ["type", "event", "kind", "sessionUpdate", "eventType", "event_type"];
/// Members that say how far it is.
const STATES: [&str; 4] = ["subtype", "status", "state", "phase"];

/// All calls that an event is about, with their ids.
pub fn in_event(event: &Value) -> Vec<(String, Says)> {
    let mut found = Vec::new();
    let mut left = NODES;
    let kind = kind_of(event);
    walk(event, &kind, DEPTH, &mut left, &mut found);
    found
}

/// The words that say what kind of event this is.
pub fn kind_of(value: &Value) -> String {
    KINDS.iter().find_map(|key| some(value, key)).unwrap_or_default()
}

fn walk(value: &Value, outer: &str, depth: usize, left: &mut usize, found: &mut Vec<(String, Says)>) {
    if *left == 0 || depth == 0 {
        return;
    }
    *left -= 1;
    match value {
        Value::Array(list) => list.iter().for_each(|inner| walk(inner, outer, depth - 1, left, found)),
        Value::Object(map) => {
            let own = kind_of(value);
            let kind = if own.is_empty() { outer } else { &own };
            if let Some(id) = id_of(value, kind) {
                if let Some(says) = says(value, kind) {
                    found.push((id, says));
                }
                // what it was called with, and what it gave, are no calls
                for key in ["message", "messages", "content", "update", "item", "toolCalls", "tool_calls"] {
                    walk(&value[key], "", depth - 1, left, found);
                }
                return;
            }
            for (key, inner) in map {
                // a list of calls in a message is not the message's kind
                let outer = if matches!(key.as_str(), "data" | "payload" | "params" | "body") { kind } else { "" };
                if inner.is_object() || inner.is_array() {
                    walk(inner, outer, depth - 1, left, found);
                }
            }
        }
        _ => {}
    }
}

/// The id of the call that an object is about.
pub fn id_of(value: &Value, kind: &str) -> Option<String> {
    let id = |key: &str| match &value[key] {
        Value::String(id) if !id.is_empty() && id.len() <= 256 => Some(id.clone()),
        Value::Number(id) => Some(id.to_string()),
        _ => None,
    };
    let words = words_of(kind);
    let is_call = words.iter().any(|word| CALLS.contains(&word.as_str()));
    let named = || value["function"]["name"].is_string() || value["name"].is_string() && has_input(value);
    IDS.iter()
        .find_map(|key| id(key))
        .or_else(|| id("id").filter(|_| is_call || named()))
        .or_else(|| id("tool_id").filter(|_| is_call))
}

fn has_input(value: &Value) -> bool {
    INPUTS.iter().any(|key| !value[key].is_null())
}

/// Words of kinds of calls.
const CALLS: [&str; 8] = ["tool", "function", "call", "command", "exec", "shell", "toolcall", "tooluse"];
/// Words that say that a call is not over.
const BEGINS: [&str; 12] = [
    "pending",
    "in_progress",
    "inprogress",
    "running",
    "started",
    "start",
    "begin",
    "began",
    "queued",
    "requested",
    "executing",
    "awaiting",
];
/// Words that say that it goes on.
const MOVES: [&str; 7] = ["delta", "chunk", "progress", "partial", "update", "updated", "heartbeat"];
/// Words that say that it is over.
const ENDS: [&str; 25] = [
    "completed",
    "complete",
    "done",
    "end",
    "ended",
    "finish",
    "finished",
    "result",
    "results",
    "output",
    "failed",
    "failure",
    "error",
    "errored",
    "success",
    "succeeded",
    "cancelled",
    "canceled",
    "aborted",
    "rejected",
    "response",
    "returned",
    "exited",
    "stopped",
    "denied",
];

/// The words of a name: `tool_call.completed`, `toolCallCompleted`.
pub fn words_of(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before = ' ';
    for c in name.chars().take(120) {
        if !c.is_alphanumeric() {
            words.push(String::new());
        } else {
            if c.is_uppercase() && before.is_lowercase() {
                words.push(String::new());
            }
            if let Some(word) = words.last_mut() {
                word.extend(c.to_lowercase());
            }
        }
        before = c;
    }
    words.retain(|word| !word.is_empty());
    words
}

/// What an object says of its call.
fn says(value: &Value, kind: &str) -> Option<Says> {
    let has = |words: &[String], of: &[&str]| words.iter().any(|word| of.contains(&word.as_str()));
    let states: Vec<String> = STATES.iter().filter_map(|key| value[key].as_str()).map(str::to_lowercase).collect();
    let words = words_of(kind);
    let role = text(value, "role");
    let ends = || {
        let outcome = outcome::outcome(value);
        let given = ["output", "result", "content", "value", "aggregated_output", "stdout", "error"];
        let given = given.iter().map(|key| &value[key]).find(|given| !given.is_null()).unwrap_or(&Value::Null);
        let said = some(given, "message").or_else(|| some(given, "output")).unwrap_or_else(|| flat(given));
        let code = ["exit_code", "exitCode"].iter().find_map(|key| value[key].as_i64());
        Says::Closes { error: outcome.is_some_and(|outcome| !outcome.ok), text: said, code }
    };
    let does = does(value);
    let known = |does: Option<Calls>| does.map_or(Says::Moves, Says::Opens);
    let closed =
        ["result", "output", "exit_code", "exitCode"].iter().any(|key| !value[key].is_null() && value[key] != "");
    Some(match () {
        () if has(&states, &BEGINS) => known(does),
        () if has(&states, &ENDS) || role == "tool" => ends(),
        () if has(&words, &MOVES) => known(does),
        () if has(&words, &ENDS) => ends(),
        () if closed && !has(&words, &BEGINS) => ends(),
        () => known(does),
    })
}

const NAMES: [&str; 6] = ["toolName", "tool_name", "tool", "name", "title", "label"];
const INPUTS: [&str; 9] =
    ["args", "arguments", "input", "rawInput", "raw_input", "parameters", "params", "command", "commands"];

/// What a call does, if the object says it.
fn does(value: &Value) -> Option<Calls> {
    // `{"tool_call": {"shellToolCall": {"args": {}}}}`: the name is a key
    for key in ["tool_call", "toolCall", "tool", "function", "call", "tool_use", "toolUse"] {
        let Some(map) = value[key].as_object() else { continue };
        if let Some((name, inner)) = map.iter().find(|(name, inner)| name.ends_with("ToolCall") && inner.is_object()) {
            return Some(of_tool(name.trim_end_matches("ToolCall"), &inner["args"]));
        }
        if let Some(does) = does_itself(&value[key]) {
            return Some(does);
        }
    }
    does_itself(value)
}

fn does_itself(value: &Value) -> Option<Calls> {
    let name = NAMES.iter().find_map(|key| some(value, key)).or_else(|| {
        // `{"kind": "execute"}`, `{"type": "commandExecution", "command": "ls"}`
        some(value, "kind").or_else(|| some(value, "type")).filter(|_| has_input(value))
    })?;
    let input = INPUTS.iter().map(|key| (*key, &value[key])).find(|(_, input)| !input.is_null());
    let (key, input) = input.unwrap_or(("", &Value::Null));
    if key.starts_with("command") {
        return Some(of_tool(&name, &serde_json::json!({ "command": input })));
    }
    let parsed = input.as_str().and_then(parsed);
    let kind = text(value, "kind");
    // an editor's words for a command are its title
    if kind == "execute" && command_of(parsed.as_ref().unwrap_or(input)).is_none() {
        return Some(Calls::Bash { command: name, timeout_ms: None });
    }
    Some(of_tool(&name, parsed.as_ref().unwrap_or(input)))
}

fn parsed(text: &str) -> Option<Value> {
    let inner = text.trim_start();
    (inner.starts_with('{') && !super::too_deep(inner.as_bytes())).then(|| serde_json::from_str(inner).ok()).flatten()
}

/// The command line of an input.
fn command_of(input: &Value) -> Option<String> {
    let line = ["command", "cmd", "script", "commands"].iter().map(|key| &input[key]).find(|line| !line.is_null())?;
    match line {
        Value::String(line) => Some(line.clone()),
        Value::Array(words) => {
            let words: Vec<&str> = words.iter().take(64).filter_map(Value::as_str).collect();
            // the shell's own words last: `["bash", "-lc", "…"]`
            let shell = words.len() == 3 && words[1].starts_with('-') && words[1].ends_with('c');
            Some(if shell { words[2].to_owned() } else { words.join(" ") })
        }
        _ => None,
    }
}

/// What a tool of this name does with this input.
pub fn of_tool(name: &str, input: &Value) -> Calls {
    let words = words_of(name);
    let has = |of: &[&str]| words.iter().any(|word| of.contains(&word.as_str()));
    if let Some(command) = command_of(input).filter(|_| !name.starts_with("mcp")) {
        let timeout_ms = ["timeout", "timeout_ms", "timeoutMs"].iter().find_map(|key| input[key].as_u64());
        return Calls::Bash { command, timeout_ms: timeout_ms.filter(|ms| *ms > 0) };
    }
    if has(&["ask", "question", "elicit", "elicitation"]) {
        let asked = questions(&input["questions"]);
        if !asked.is_empty() {
            return Calls::Ask(asked);
        }
        if let Some(question) = some(input, "question").or_else(|| some(input, "message")) {
            return Calls::Ask(vec![question_of(&question, input)]);
        }
    }
    if has(&["bash", "shell", "terminal"]) {
        return Calls::Bash { command: on(input), timeout_ms: None };
    }
    if has(&["task", "subagent", "delegate", "subtask"]) {
        let description = some(input, "description").or_else(|| some(input, "title")).unwrap_or_else(|| on(input));
        return Calls::Task { description, child: None };
    }
    Calls::Tool { name: name.to_owned(), on: on(input) }
}

/// A question with the choices of an input.
pub fn question_of(question: &str, input: &Value) -> Question {
    let list = serde_json::json!([{
        "question": question, "header": text(input, "header"),
        "options": if input["options"].is_array() { &input["options"] } else { &input["choices"] },
    }]);
    questions(&list).remove(0)
}
