//! A scenario's tool turns as calls in an agent's own names and shapes.
//!
//! Invariant: a text of a shape that is one `{word}` alone becomes the word's value, with its type, and is left out of
//! its object if the turn has no such word; a word within a longer text is replaced there. Other texts stay.

use rehang_agents::{Call, ToolShape};
use rehang_scenario::turns::{Choice, Question, Turn};
use rehang_wire::model::ToolCall;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// The agent has no shape for such a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the agent's file has no tool for `{0:?}`")]
pub struct NoShape(pub Call);

/// The head of a question that has none: every agent's own schema wants one, and a scenario may leave it out.
pub const NO_HEAD: &str = "Question";

/// The permission of a `permit` turn that calls a tool of a tool server, by the name that the agent gives it: no agent's
/// file has a shape for it, since the server is the scenario's.
pub const TOOL_SERVER: &str = "mcp";

/// The mark in a subagent's prompt that tells its requests from all others: its place among the turns.
pub(crate) fn mark(place: &str) -> String {
    format!("[task {place}]")
}

/// The place that a [`mark`] in a text names.
pub(crate) fn marked(text: &str) -> Option<&str> {
    let (_, rest) = text.rsplit_once("[task ")?;
    let (place, _) = rest.split_once(']')?;
    let known = |c: char| c.is_ascii_digit() || matches!(c, '.' | '/');
    (!place.is_empty() && place.chars().all(known)).then_some(place)
}

/// The call that a turn is. `place` is where a `task` is: `2.1` or `2.1/3.0`.
///
/// # Errors
/// The agent's file has no such tool. `None` if the turn calls none.
pub(crate) fn call(
    tools: &BTreeMap<Call, ToolShape>,
    turn: &Turn,
    id: &str,
    place: &str,
) -> Result<Option<ToolCall>, NoShape> {
    let (which, mut words) = match turn {
        Turn::Ask(_) => (Call::Ask, Words::new()),
        Turn::Bash(bash) => {
            let limit = bash.timeout.map(|span| span.as_ms());
            let words = [
                ("command", json!(bash.command)),
                ("description", json!("Runs the scenario's command")),
                ("timeout_ms", json!(limit)),
                ("timeout_s", json!(limit.map(|ms| ms.div_ceil(1000)))),
            ];
            (Call::Bash, Words::from(words))
        }
        Turn::Task(task) => {
            let prompt = format!("{} {}", task.description, mark(place));
            let words = [("description", json!(task.description)), ("prompt", json!(prompt))];
            (Call::Task, Words::from(words))
        }
        Turn::Permit(permit) if permit.permission == TOOL_SERVER => {
            return Ok(Some(ToolCall { id: id.to_owned(), name: permit.tool.clone(), input: json!({}) }));
        }
        Turn::Permit(permit) => {
            let words = [
                ("tool", json!(permit.tool)),
                ("permission", json!(permit.permission)),
                ("pattern", json!(permit.patterns.first())),
                ("patterns", json!(permit.patterns)),
                ("output", json!(permit.output)),
            ];
            (Call::Permit, Words::from(words))
        }
        Turn::Say(_) | Turn::Think(_) | Turn::Together(_) | Turn::Compact(_) | Turn::Finish(_) => return Ok(None),
    };
    let shape = tools.get(&which).ok_or(NoShape(which))?;
    if let Turn::Ask(questions) = turn {
        let each: Vec<Words> = questions.iter().zip(1..).map(|(q, n)| question_words(q, n, shape)).collect();
        let of = |own: &Words| shape.question.as_ref().and_then(|template| fill(template, own));
        words.insert("questions", each.iter().filter_map(of).collect());
        words.extend(each.into_iter().next().unwrap_or_default());
    }
    let name = match fill(&json!(shape.name), &words) {
        Some(Value::String(name)) => name,
        _ => shape.name.clone(),
    };
    let input = fill(&shape.arguments, &words).unwrap_or_else(|| json!({}));
    Ok(Some(ToolCall { id: id.to_owned(), name, input }))
}

type Words = BTreeMap<&'static str, Value>;

fn question_words(question: &Question, nth: u32, shape: &ToolShape) -> Words {
    let option = |choice: &Choice| {
        let words = Words::from([("label", json!(choice.label)), ("description", json!(choice.description))]);
        match &shape.option {
            Some(template) => fill(template, &words),
            None => Some(json!(choice.label)),
        }
    };
    let options: Vec<Value> = question.options.iter().filter_map(option).collect();
    let header = if question.header.is_empty() { NO_HEAD } else { &question.header };
    Words::from([
        ("index", json!(nth)),
        ("question", json!(question.question)),
        ("header", json!(header)),
        ("options", json!(options)),
        ("labels", question.options.iter().map(|choice| json!(choice.label)).collect()),
        ("multiple", json!(question.multiple)),
        ("custom", json!(question.custom)),
    ])
}

/// A template with its words filled in; `None` if it is a word that has no value.
fn fill(template: &Value, words: &Words) -> Option<Value> {
    Some(match template {
        Value::String(text) => return fill_text(text, words),
        Value::Array(items) => Value::Array(items.iter().filter_map(|item| fill(item, words)).collect()),
        Value::Object(map) => {
            let filled = map.iter().filter_map(|(key, value)| Some((key.clone(), fill(value, words)?)));
            Value::Object(filled.collect::<Map<_, _>>())
        }
        other => other.clone(),
    })
}

fn fill_text(text: &str, words: &Words) -> Option<Value> {
    let alone = text.strip_prefix('{').and_then(|t| t.strip_suffix('}'));
    if let Some(value) = alone.and_then(|word| words.get(word)) {
        return (!value.is_null()).then(|| value.clone());
    }
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('{') {
        out.push_str(before);
        match behind.split_once('}').and_then(|(word, after)| Some((words.get(word)?, after))) {
            Some((value, after)) => {
                out.push_str(&value.as_str().map_or_else(|| value.to_string(), str::to_owned));
                rest = after;
            }
            None => {
                out.push('{');
                rest = behind;
            }
        }
    }
    out.push_str(rest);
    Some(Value::String(out))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rehang_scenario::turns::Task;

    fn shapes() -> BTreeMap<Call, ToolShape> {
        let shape =
            |name: &str, arguments: Value| ToolShape { name: name.to_owned(), arguments, question: None, option: None };
        let ask = ToolShape {
            question: Some(
                json!({"question": "{question}", "header": "{header}", "options": "{options}", "x": "{custom}"}),
            ),
            option: Some(json!({"label": "{label}"})),
            ..shape("question", json!({"questions": "{questions}"}))
        };
        let bash = shape(
            "bash",
            json!({"command": ["sh", "-c", "{command}"], "timeout": "{timeout_ms}", "d": "a {command} {b"}),
        );
        BTreeMap::from([
            (Call::Ask, ask),
            (Call::Bash, bash),
            (Call::Task, shape("task", json!({"prompt": "{prompt}"}))),
        ])
    }

    fn input(turn: Value) -> Value {
        let turn = serde_json::from_value(turn).unwrap();
        call(&shapes(), &turn, "c", "2.1").unwrap().unwrap().input
    }

    #[test]
    fn a_tool_of_a_tool_server_is_called_by_its_name_and_needs_no_shape() {
        let turn = |permission: &str| {
            serde_json::from_value(json!({"permit": {"tool": "db_query", "permission": permission}}))
        };
        let called = call(&shapes(), &turn(TOOL_SERVER).unwrap(), "c", "2").unwrap().unwrap();
        assert_eq!((called.name.as_str(), called.input), ("db_query", json!({})));
        assert!(call(&shapes(), &turn("edit").unwrap(), "c", "2").is_err());
    }

    #[test]
    fn words_keep_their_type_and_what_is_not_there_is_left_out() {
        assert_eq!(input(json!({"bash": {"command": "ls"}})), json!({"command": ["sh", "-c", "ls"], "d": "a ls {b"}));
        assert_eq!(
            input(json!({"bash": {"command": "ls", "timeout": "5s"}})),
            json!({"command": ["sh", "-c", "ls"], "timeout": 5000, "d": "a ls {b"})
        );
        assert_eq!(
            input(
                json!({"ask": [{"question": "Which?", "options": [{"label": "a"}, {"label": "b"}]}, {"question": "Why?"}]})
            ),
            json!({"questions": [
                {"question": "Which?", "header": "Question", "options": [{"label": "a"}, {"label": "b"}]},
                {"question": "Why?", "header": "Question", "options": []},
            ]})
        );
    }

    #[test]
    fn a_prompt_says_where_its_task_stands() {
        let prompt = input(json!({"task": {"description": "run sub", "turns": []}}));
        assert_eq!(prompt, json!({"prompt": "run sub [task 2.1]"}));
        assert_eq!(marked("<x> run sub [task 2.1/3.0]\n"), Some("2.1/3.0"));
        assert_eq!(marked("[task list] of mine"), None);
        let turn = Turn::Task(Task { description: String::new(), turns: Vec::new() });
        assert_eq!(call(&BTreeMap::new(), &turn, "c", ""), Err(NoShape(Call::Task)));
    }
}
