//! The JSON Schema of a scenario file, for editors.

use crate::{Expect, Scenario};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// One `[[vary]]`: the file with some keys set to other values.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Vary {
    /// What the variant is called: letters, digits, `-`, `_`, `.`, `=`.
    pub name: String,
    /// The changed values, by path: `terminals`, `"people.0.after"`, `"env.CI"`. None: the file itself.
    #[serde(default)]
    pub set: BTreeMap<String, Value>,
    /// The variant's own control arm, by path, in place of the file's. Empty: it has none.
    #[serde(default)]
    pub control: Option<BTreeMap<String, Value>>,
    /// What must come out; these are tried before the file's.
    #[serde(default)]
    pub expect: Vec<Expect>,
}

/// Top-level keys that a control arm may change: those that decide how the run goes. The others say what it means.
pub const CONTROL_KEYS: [&str; 15] = [
    "agent",
    "terminals",
    "turns",
    "tool-server",
    "hook",
    "faults",
    "people",
    "editor",
    "runs",
    "afterwards",
    "env",
    "args",
    "seeds",
    "stages",
    "survives",
];

/// Top-level keys that a variant may set.
pub const SET_KEYS: [&str; 20] = [
    "title",
    "about",
    "mechanism",
    "cites",
    "agent",
    "terminals",
    "turns",
    "tool-server",
    "hook",
    "faults",
    "people",
    "editor",
    "runs",
    "afterwards",
    "env",
    "args",
    "seeds",
    "stages",
    "survives",
    "skip",
];

/// The JSON Schema (2020-12) of a whole file, `[control]` and `[[vary]]` included.
pub fn schema() -> Value {
    let mut generator = SchemaSettings::draft2020_12().into_generator();
    let mut root = generator.root_schema_for::<Scenario>().to_value();
    let vary = {
        let _ = generator.subschema_for::<Vary>();
        generator.take_definitions(true).remove("Vary").unwrap_or_default()
    };
    let keys = root["properties"].as_object().cloned().unwrap_or_default();
    let of = |names: &[&str]| -> Map<String, Value> {
        names.iter().filter_map(|&n| Some((n.to_owned(), keys.get(n)?.clone()))).collect()
    };
    let by_path = |names: &[&str]| json!({ format!("^({})(\\.[^.]+)+$", names.join("|")): true });
    let mut control = of(&CONTROL_KEYS);
    control.insert(
        "changes".to_owned(),
        json!({ "description": "Where it changes more than one top-level key: all of them, by name.",
                "type": "array", "items": { "type": "string", "enum": CONTROL_KEYS } }),
    );
    root["$defs"]["Control"] = json!({
        "description": "The same scenario with the one change under which it completes: what stands here replaces the file's, by key or by path.",
        "type": "object", "properties": control, "patternProperties": by_path(&CONTROL_KEYS), "additionalProperties": false,
    });
    root["$defs"]["Set"] = json!({
        "type": "object", "properties": of(&SET_KEYS), "patternProperties": by_path(&SET_KEYS), "additionalProperties": false,
    });
    let mut vary = vary;
    for (key, definition) in [("set", "Set"), ("control", "Control")] {
        let description = vary["properties"][key]["description"].take();
        vary["properties"][key] = json!({ "description": description, "$ref": format!("#/$defs/{definition}") });
    }
    root["$defs"]["Vary"] = vary;
    root["title"] = "A rehang scenario".into();
    root["properties"]["control"] = json!({ "$ref": "#/$defs/Control" });
    root["properties"]["vary"] = json!({
        "description": "Variants: the file is then run as each of them, and not as itself.",
        "type": "array", "maxItems": crate::limits::VARIANTS, "items": { "$ref": "#/$defs/Vary" },
    });
    root
}
