//! The inverse of loading: a scenario as a tidy file, as a person would write it.
//!
//! Invariant: what is written loads to the same scenario. Defaults are left out; they are read from the JSON
//! Schema, so they cannot drift from the types.

use crate::schema::{CONTROL_KEYS, schema};
use crate::{Expect, Scenario};
use serde_json::{Map, Value};
use std::fmt::Write;
use std::sync::LazyLock;

/// Columns after which a list or a table goes over several lines.
const WIDTH: usize = 110;

/// A file with this scenario, and with the control arm if there is one: the top-level keys in which it differs.
///
/// A control arm can be written if it has all optional keys (`stages`) that the scenario has; one that was loaded from
/// a file always does.
pub fn to_toml(scenario: &Scenario, control: Option<&Scenario>) -> String {
    let whole = pruned(scenario);
    let mut out = String::new();
    for (key, value) in whole.iter().filter(|(key, _)| *key != "expect") {
        entry(&mut out, key, value, key == "turns" || key == "faults" || key == "people");
    }
    if let Some(control) = control {
        let (full, other) = (as_map(scenario), as_map(control));
        let changed: Vec<&str> = CONTROL_KEYS.into_iter().filter(|&key| full.get(key) != other.get(key)).collect();
        out.push_str("\n[control]\n");
        if changed.len() > 1 {
            entry(&mut out, "changes", &Value::from(changed.clone()), false);
        }
        let short = pruned(control);
        for key in changed {
            // A key that falls back to its default must be written nevertheless: the file has another value.
            let value = short.get(key).or_else(|| other.get(key)).unwrap_or(&Value::Null);
            entry(&mut out, key, value, false);
        }
    }
    for rule in whole.get("expect").and_then(Value::as_array).into_iter().flatten() {
        out.push_str("\n[[expect]]\n");
        for (key, value) in rule.as_object().into_iter().flatten() {
            entry(&mut out, key, value, false);
        }
    }
    out
}

/// The keys of a rule, in their order, without those that have their default.
pub fn rule_keys(rule: &Expect) -> Vec<(String, Value)> {
    let value = serde_json::to_value(rule).unwrap_or_default();
    match prune(value, &SCHEMA["$defs"]["Expect"], &SCHEMA) {
        Value::Object(map) => map.into_iter().collect(),
        _ => Vec::new(),
    }
}

/// A value as TOML; it goes over several lines if it would be too wide when it begins at this column.
pub fn value_text(value: &Value, column: usize) -> String {
    let mut out = String::new();
    render(&mut out, value, 0, column, false);
    out
}

/// A value as TOML on one line.
pub fn line_text(value: &Value) -> String {
    one_line(value)
}

static SCHEMA: LazyLock<Value> = LazyLock::new(schema);

fn as_map(scenario: &Scenario) -> Map<String, Value> {
    match serde_json::to_value(scenario) {
        Ok(Value::Object(map)) => map,
        _ => Map::new(),
    }
}

/// The scenario without values that say nothing: null, and defaults.
fn pruned(scenario: &Scenario) -> Map<String, Value> {
    match prune(Value::Object(as_map(scenario)), &SCHEMA, &SCHEMA) {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

fn prune(value: Value, schema: &Value, root: &Value) -> Value {
    let mut schema = schema;
    if let Some(some) = schema["anyOf"].as_array().and_then(|any| any.iter().find(|s| s["type"] != "null")) {
        schema = some;
    }
    if let Some(name) = schema["$ref"].as_str().and_then(|r| r.rsplit('/').next()) {
        schema = &root["$defs"][name];
    }
    match value {
        Value::Array(list) => list.into_iter().map(|v| prune(v, &schema["items"], root)).collect(),
        Value::Object(map) => {
            let case = |key: &str| {
                let cases = schema["oneOf"].as_array()?;
                cases.iter().map(|c| &c["properties"][key]).find(|s| !s.is_null())
            };
            let mut out = Map::new();
            for (key, value) in map {
                let own = &schema["properties"][&key];
                let below = case(&key).unwrap_or(if own.is_null() { &schema["additionalProperties"] } else { own });
                // The release is always written: a result of one release must not move with the default.
                if key == "as" || !value.is_null() && own.get("default") != Some(&value) {
                    out.insert(key, prune(value, below, root));
                }
            }
            Value::Object(out)
        }
        other => other,
    }
}

fn entry(out: &mut String, key: &str, value: &Value, tall: bool) {
    let _ = write!(out, "{} = ", word(key));
    render(out, value, 0, key.len() + 3, tall);
    out.push('\n');
}

/// Writes a value that begins at a column. `tall` puts each element of a list on a line of its own, however short.
fn render(out: &mut String, value: &Value, indent: usize, column: usize, tall: bool) {
    let line = one_line(value);
    let empty = value.as_array().is_some_and(Vec::is_empty);
    if (!tall || empty) && column + line.chars().count() <= WIDTH {
        return out.push_str(&line);
    }
    let pad = " ".repeat(indent + 2);
    match value {
        Value::Array(list) => {
            out.push_str("[\n");
            for element in list {
                out.push_str(&pad);
                render(out, element, indent + 2, indent + 2, false);
                out.push_str(",\n");
            }
            let _ = write!(out, "{}]", &pad[2..]);
        }
        // A table with one key is one choice of several: it needs no line of its own.
        Value::Object(map) if map.len() == 1 => {
            for (key, value) in map {
                let head = format!("{{ {} = ", word(key));
                out.push_str(&head);
                render(out, value, indent, column + head.len(), false);
                out.push_str(" }");
            }
        }
        Value::Object(map) if !map.is_empty() => {
            out.push_str("{\n");
            for (key, value) in map {
                let head = format!("{pad}{} = ", word(key));
                out.push_str(&head);
                render(out, value, indent + 2, head.len(), false);
                out.push_str(",\n");
            }
            let _ = write!(out, "{}}}", &pad[2..]);
        }
        _ => out.push_str(&line),
    }
}

fn one_line(value: &Value) -> String {
    match value {
        Value::Array(list) => format!("[{}]", list.iter().map(one_line).collect::<Vec<_>>().join(", ")),
        Value::Object(map) if map.is_empty() => "{}".to_owned(),
        Value::Object(map) => {
            let entries: Vec<String> = map.iter().map(|(k, v)| format!("{} = {}", word(k), one_line(v))).collect();
            format!("{{ {} }}", entries.join(", "))
        }
        Value::String(text) => quoted(text),
        other => other.to_string(),
    }
}

fn word(key: &str) -> String {
    let bare = !key.is_empty() && key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
    if bare { key.to_owned() } else { quoted(key) }
}

fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            '\u{1b}' => out.push_str("\\e"),
            c if crate::problem::hidden(c) => {
                let _ = write!(out, "\\u{:04X}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use serde_json::json;

    #[test]
    fn a_line_ends_at_the_width_and_what_is_wider_is_indented() {
        let wide = |chars: usize| json!(["y".repeat(chars - 4)]);
        let lines = |key: &str, value: Value, tall| {
            let mut out = String::new();
            entry(&mut out, key, &value, tall);
            out.lines().count()
        };
        // `k = ` is before it; a key of ten letters takes thirteen columns
        assert_eq!([lines("k", wide(106), false), lines("k", wide(107), false)], [1, 3]);
        assert_eq!([lines("a_long_key", wide(97), false), lines("a_long_key", wide(98), false)], [1, 3]);
        assert_eq!([json!([1]), json!([]), json!(7)].map(|value| lines("k", value, true)), [3, 1, 1]);
        assert_eq!([json!({}), json!("x")].map(|value| value_text(&value, 120)), ["{}", "\"x\""]);
        let (long, other) = ("y".repeat(100), "z".repeat(100));
        let nested = json!({ "a": [[long, 1], { "b": { "c": long, "d": other } }], "e f": {} });
        expect![[r#"
            {
              a = [
                [
                  "yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy",
                  1,
                ],
                { b = {
                  c = "yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy",
                  d = "zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz",
                } },
              ],
              "e f" = {},
            }"#]].assert_eq(&value_text(&nested, 4));
    }

    #[test]
    fn texts_are_escaped_and_keys_are_bare_if_they_can_be() {
        assert_eq!(quoted("a\"b\\c\n\t\r\u{1b}\u{0}\u{202e}é"), r#""a\"b\\c\n\t\r\e\u0000\u202Eé""#);
        assert_eq!(["a-B_9", "", "a b", "é", "a.b"].map(word), ["a-B_9", "\"\"", "\"a b\"", "\"é\"", "\"a.b\""]);
        assert_eq!(line_text(&json!({ "a": [1, "x", {}], "b": true })), r#"{ a = [1, "x", {}], b = true }"#);
        assert_eq!(line_text(&json!([])), "[]");
    }

    #[test]
    fn a_rule_is_written_without_what_it_does_not_say() {
        let keys = |rule: &Expect| {
            rule_keys(rule).iter().map(|(key, value)| format!("{key} = {}\n", line_text(value))).collect::<String>()
        };
        assert_eq!(keys(&Expect::completes(crate::Arm::Main)), "outcome = \"completed\"\n");
        let rule = Expect {
            strategies: vec!["none".to_owned()],
            seeds: vec![0],
            within: Some(crate::Span::secs(2)),
            policy: Some(crate::Policy { answered: Some(Vec::new()), ..crate::Policy::default() }),
            ..Expect::completes(crate::Arm::Control)
        };
        expect![[r#"
            arm = "control"
            strategies = ["none"]
            seeds = [0]
            outcome = "completed"
            within = "2s"
            policy = { answered = [] }
        "#]]
        .assert_eq(&keys(&rule));
    }

    #[test]
    fn what_is_the_default_is_left_out_at_every_depth_and_the_release_is_not() {
        let file = r#"
title = "T"
mechanism = "Q1"
agent = { opencode = { as = "1.2.15", mode = "run", client = "post" } }
terminals = ["null"]
seeds = [1]
runs = 1
turns = [{ ask = [{ question = "Q", options = [], multiple = false }] }, { bash = { command = "x", does = [{ start = { name = "y", missing = false, stdin = "null" } }] } }]
faults = [{ model = { response = 1, after = 0, does = "stall" } }]
"#;
        let family =
            crate::load("x.toml", file.as_bytes()).into_result().unwrap_or_else(|problems| panic!("{problems}"));
        expect![[r#"
            title = "T"
            mechanism = "Q1"
            agent = { opencode = { as = "1.2.15" } }
            terminals = ["null"]
            turns = [
              { ask = [{ question = "Q" }] },
              { bash = { command = "x", does = [{ start = { name = "y", stdin = "null" } }] } },
            ]
            faults = [
              { model = { does = "stall" } },
            ]
        "#]]
        .assert_eq(&to_toml(&family.variants[0].scenario, None));
    }

    #[test]
    fn a_control_arm_is_written_by_the_keys_in_which_it_differs() {
        let file = "title = \"T\"\nmechanism = \"F1\"\nagent = { program = [] }\nargs = [\"a\"]\nruns = 2\n";
        let family =
            crate::load("x.toml", file.as_bytes()).into_result().unwrap_or_else(|problems| panic!("{problems}"));
        let main = &family.variants[0].scenario;
        let arm = |control: Scenario| {
            let text = to_toml(main, Some(&control));
            text.split_once("[control]\n").map(|(_, arm)| arm.to_owned())
        };
        assert_eq!(arm(Scenario { runs: 3, ..main.clone() }).as_deref(), Some("runs = 3\n"));
        assert_eq!(
            arm(Scenario { runs: 1, ..main.clone() }).as_deref(),
            Some("runs = 1\n"),
            "a default is written too"
        );
        let both = Scenario { runs: 1, args: Vec::new(), ..main.clone() };
        assert_eq!(arm(both).as_deref(), Some("changes = [\"runs\", \"args\"]\nruns = 1\nargs = []\n"));
        assert_eq!(arm(main.clone()).as_deref(), Some(""));
    }

    #[test]
    fn a_default_is_found_through_every_form_of_a_schema() {
        let root = json!({ "$defs": { "X": { "properties": { "a": { "default": 1 }, "as": { "default": 1 } } } } });
        let link = json!({ "$ref": "#/$defs/X" });
        let below =
            |schema: Value| prune(json!({ "k": { "a": 1, "as": 1, "n": null, "b": 1 } }), &schema, &root)["k"].clone();
        let pruned = json!({ "as": 1, "b": 1 });
        let forms = [
            json!({ "properties": { "k": link } }),
            json!({ "properties": { "k": { "anyOf": [{ "type": "null" }, link] } } }),
            json!({ "properties": { "k": { "anyOf": [link, { "type": "null" }] } } }),
            json!({ "oneOf": [{ "const": "x" }, { "properties": { "k": link } }] }),
            json!({ "additionalProperties": link }),
            // a key of its own counts before any other key
            json!({ "properties": { "k": link }, "additionalProperties": {} }),
        ];
        for form in forms {
            assert_eq!(below(form.clone()), pruned, "{form}");
        }
        assert_eq!(below(json!({})), json!({ "a": 1, "as": 1, "b": 1 }), "nothing is known of it");
        let list = json!({ "items": link });
        assert_eq!(prune(json!([{ "a": 1 }, { "a": 2 }]), &list, &root), json!([{}, { "a": 2 }]));
    }
}
