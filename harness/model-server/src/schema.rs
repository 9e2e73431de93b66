//! The simplest value that a JSON Schema allows: the answer to a request on the side for JSON.
//!
//! Invariant: it terminates on any schema, also one that refers to itself; what a schema does not require is left out.

use serde_json::{Map, Value, json};

/// How deep a schema is followed; below it, null.
const DEPTH_MAX: usize = 16;

/// The plainest value of a schema: the first of an enumeration, the required keys of an object, an empty list.
pub(crate) fn plainest(schema: &Value) -> Value {
    sample(schema, schema, DEPTH_MAX)
}

fn sample(schema: &Value, root: &Value, depth: usize) -> Value {
    if depth == 0 {
        return Value::Null;
    }
    let deeper = |inner: &Value| sample(inner, root, depth - 1);
    if let Some(value) = schema.get("const").or_else(|| schema.get("default")) {
        return value.clone();
    }
    if let Some(first) = schema.pointer("/enum/0") {
        return first.clone();
    }
    if let Some(place) = schema.get("$ref").and_then(Value::as_str).and_then(|r| r.strip_prefix('#')) {
        return root.pointer(place).map_or(Value::Null, deeper);
    }
    if let Some(first) = ["anyOf", "oneOf", "allOf"].iter().find_map(|key| schema.get(key)?.get(0)) {
        return deeper(first);
    }
    let kind = schema.get("type").map(|kind| kind.get(0).unwrap_or(kind)).and_then(Value::as_str).unwrap_or("");
    let least = |key| schema.get(key).and_then(Value::as_u64).unwrap_or(0);
    // Google writes types in capitals.
    match kind.to_ascii_lowercase().as_str() {
        "string" => json!("scripted"),
        // Gemini CLI wants a score "from 1" and says so in words only.
        "integer" | "number" => schema.get("minimum").cloned().unwrap_or(json!(1)),
        "boolean" => json!(false),
        "array" => {
            let item = schema.get("items").map_or(Value::Null, deeper);
            Value::Array(vec![item; least("minItems").min(8) as usize])
        }
        "object" | "" => {
            let required: Vec<&str> = schema
                .get("required")
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .collect();
            let properties = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
            let wanted = properties.filter(|(name, _)| required.contains(&name.as_str()));
            Value::Object(wanted.map(|(name, inner)| (name.clone(), deeper(inner))).collect::<Map<_, _>>())
        }
        _ => Value::Null,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plainest_value_fits() {
        let router = json!({"type": "OBJECT", "required": ["reasoning", "model_choice"], "properties": {
            "reasoning": {"type": "STRING"}, "model_choice": {"type": "STRING", "enum": ["flash", "pro"]}, "more": {"type": "STRING"}}});
        assert_eq!(plainest(&router), json!({"reasoning": "scripted", "model_choice": "flash"}));
        let kinds =
            json!({"type": ["array", "null"], "minItems": 1, "items": {"anyOf": [{"type": "integer", "minimum": 3}]}});
        assert_eq!(plainest(&kinds), json!([3]));
        assert_eq!(plainest(&json!(true)), json!({}));
    }

    #[test]
    fn a_schema_that_refers_to_itself_ends() {
        let wide = json!({"required": ["a"], "properties": {"a": {"$ref": "#"}}});
        let mut value = plainest(&wide);
        let mut depth = 0;
        while let Some(inner) = value.get("a").cloned() {
            value = inner;
            depth += 1;
        }
        assert!(value.is_null() && depth < DEPTH_MAX, "{depth}");
    }
}
