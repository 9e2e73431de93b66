//! The shape of a file, compiled from the JSON Schema that the typed model derives.
//!
//! Invariant: one source of truth. A key, a word or a limit is in the model's types and nowhere else, so that the
//! errors, the editors' schema and the types cannot drift apart.

use crate::limits;
use crate::model::Scenario;
use crate::schema::Vary;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// A shape, by number.
pub(crate) type Id = usize;

/// What a value must look like.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Shape {
    /// A text.
    Text(Marks),
    /// A duration.
    Duration,
    /// A whole number.
    Whole { min: u64, max: u64 },
    /// `true` or `false`.
    Flag,
    /// A list.
    List { item: Id, max: usize },
    /// A table with keys of the writer's own.
    Map { value: Id },
    /// A table with these keys.
    Struct(Vec<Field>),
    /// One of these.
    Choice(Vec<Case>),
    /// Anything: checked elsewhere.
    Any,
}

/// Which control characters a text may hold beside newline and tab.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Marks {
    /// No others: the text is shown to people and compared with what agents say.
    None,
    /// What a program prints on a terminal: escape, carriage return, bell, backspace.
    Printed,
    /// What a keyboard sends: any, since Ctrl-C and Escape are keys.
    Typed,
}

/// A key of a table.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Field {
    pub(crate) key: String,
    pub(crate) shape: Id,
    pub(crate) required: bool,
    pub(crate) doc: String,
}

/// One of several: a word alone, or a table with this one key.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Case {
    pub(crate) word: String,
    pub(crate) value: Option<Id>,
}

/// All shapes of a file.
#[derive(Debug)]
pub(crate) struct Shapes {
    all: Vec<Shape>,
    /// The file without `[control]` and `[[vary]]`.
    pub(crate) scenario: Id,
    /// The `vary` list.
    pub(crate) vary: Id,
    /// A turn: these are counted.
    pub(crate) turn: Id,
    pub(crate) list_of_words: Id,
}

impl Shapes {
    /// The shape with this number.
    pub(crate) fn get(&self, id: Id) -> &Shape {
        self.all.get(id).unwrap_or(&Shape::Any)
    }

    /// The shapes of another kind of file, and the shape of the whole file.
    pub(crate) fn of<T: JsonSchema>() -> (Shapes, Id) {
        let mut generator = SchemaSettings::draft2020_12().into_generator();
        let root = generator.subschema_for::<T>().to_value();
        let mut compiler =
            Compiler { definitions: generator.take_definitions(true), named: BTreeMap::new(), all: Vec::new() };
        let root = compiler.compile(&root);
        // no shape has this number: such a file has no turns
        let none = Id::MAX;
        (Shapes { all: compiler.all, scenario: root, vary: none, turn: none, list_of_words: none }, root)
    }

    /// The shape of a table's key.
    pub(crate) fn field(&self, table: Id, key: &str) -> Option<&Field> {
        match self.get(table) {
            Shape::Struct(fields) => fields.iter().find(|f| f.key == key),
            _ => None,
        }
    }
}

/// The shapes, compiled once.
pub(crate) static SHAPES: LazyLock<Shapes> = LazyLock::new(|| {
    let mut generator = SchemaSettings::draft2020_12().into_generator();
    let scenario = generator.subschema_for::<Scenario>().to_value();
    let vary = generator.subschema_for::<Vec<Vary>>().to_value();
    let turn = generator.subschema_for::<crate::turns::Turn>().to_value();
    let mut compiler =
        Compiler { definitions: generator.take_definitions(true), named: BTreeMap::new(), all: Vec::new() };
    let scenario = compiler.compile(&scenario);
    let vary = compiler.compile(&vary);
    let turn = compiler.compile(&turn);
    let text = compiler.add(Shape::Text(Marks::None));
    let list_of_words = compiler.add(Shape::List { item: text, max: limits::LIST });
    Shapes { all: compiler.all, scenario, vary, turn, list_of_words }
});

struct Compiler {
    definitions: Map<String, Value>,
    named: BTreeMap<String, Id>,
    all: Vec<Shape>,
}

impl Compiler {
    fn add(&mut self, shape: Shape) -> Id {
        self.all.push(shape);
        self.all.len() - 1
    }

    fn compile(&mut self, schema: &Value) -> Id {
        if let Some(name) = schema["$ref"].as_str().and_then(|r| r.rsplit('/').next()) {
            if let Some(&id) = self.named.get(name) {
                return id;
            }
            let id = self.add(Shape::Any);
            self.named.insert(name.to_owned(), id);
            let definition = self.definitions.get(name).cloned().unwrap_or_default();
            let made = self.shape(&definition);
            self.all[id] = made;
            return id;
        }
        if let Some(any_of) = schema["anyOf"].as_array()
            && let Some(some) = any_of.iter().find(|s| s["type"] != "null")
        {
            let some = some.clone();
            return self.compile(&some);
        }
        let shape = self.shape(schema);
        self.add(shape)
    }

    fn shape(&mut self, schema: &Value) -> Shape {
        if let Some(cases) = schema["oneOf"].as_array() {
            let cases = cases.iter().flat_map(|c| self.cases(c)).collect();
            return Shape::Choice(cases);
        }
        if schema["enum"].is_array() {
            return Shape::Choice(self.cases(schema));
        }
        let kind =
            schema["type"].as_str().or_else(|| schema["type"].as_array().and_then(|kinds| kinds.first()?.as_str()));
        let limit = |key: &str, default: u64| schema[key].as_u64().unwrap_or(default);
        match kind {
            Some("string") if schema["pattern"].is_string() => Shape::Duration,
            Some("string") => Shape::Text(match schema["x-marks"].as_str() {
                Some("printed") => Marks::Printed,
                Some("typed") => Marks::Typed,
                _ => Marks::None,
            }),
            Some("integer") => {
                let widest = if schema["format"] == "uint32" { u64::from(u32::MAX) } else { i64::MAX as u64 };
                Shape::Whole { min: limit("minimum", 0), max: limit("maximum", widest) }
            }
            Some("boolean") => Shape::Flag,
            Some("array") => Shape::List {
                item: self.compile(&schema["items"]),
                max: limit("maxItems", limits::LIST as u64) as usize,
            },
            Some("object") if schema["properties"].is_object() => Shape::Struct(self.fields(schema)),
            Some("object") if schema["additionalProperties"].is_object() => {
                Shape::Map { value: self.compile(&schema["additionalProperties"]) }
            }
            Some("object") if schema["additionalProperties"] == true => {
                Shape::Map { value: self.compile(&Value::Null) }
            }
            // A struct of which every key may be left out has no `required`; one without any key does not occur here.
            _ => Shape::Any,
        }
    }

    fn cases(&mut self, schema: &Value) -> Vec<Case> {
        let word = |w: &Value| Case { word: w.as_str().unwrap_or_default().to_owned(), value: None };
        if let Some(words) = schema["enum"].as_array() {
            return words.iter().map(word).collect();
        }
        if schema["const"].is_string() {
            return vec![word(&schema["const"])];
        }
        let Some(properties) = schema["properties"].as_object() else { return Vec::new() };
        properties.iter().map(|(key, value)| Case { word: key.clone(), value: Some(self.compile(value)) }).collect()
    }

    fn fields(&mut self, schema: &Value) -> Vec<Field> {
        let Some(properties) = schema["properties"].as_object() else { return Vec::new() };
        let required = |key: &str| schema["required"].as_array().is_some_and(|all| all.iter().any(|r| r == key));
        let field = |(key, value): (&String, &Value)| Field {
            key: key.clone(),
            shape: self.compile(value),
            required: required(key),
            doc: value["description"].as_str().unwrap_or_default().to_owned(),
        };
        properties.iter().map(field).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_of_the_model_has_a_shape() {
        let any = |id: Id| matches!(SHAPES.get(id), Shape::Any);
        for shape in &SHAPES.all {
            match shape {
                Shape::Struct(fields) => {
                    for field in fields {
                        assert!(!any(field.shape), "{}", field.key);
                    }
                }
                Shape::Choice(cases) => assert!(!cases.iter().any(|c| c.value.is_some_and(any)), "{cases:?}"),
                Shape::List { item, .. } => assert!(!any(*item)),
                // The values of `set` and `control` are checked at the place where they are put.
                _ => {}
            }
        }
    }

    #[test]
    fn recursion_comes_back_to_the_same_shape() {
        let Shape::Choice(cases) = SHAPES.get(SHAPES.turn) else { panic!("a turn is a choice") };
        let together = cases.iter().find(|c| c.word == "together").and_then(|c| c.value).expect("together");
        assert_eq!(SHAPES.get(together), &Shape::List { item: SHAPES.turn, max: limits::LIST });
    }

    #[test]
    fn each_form_of_a_schema_has_its_shape() {
        use serde_json::json;
        let definitions = json!({ "X": { "type": "boolean" } }).as_object().cloned().unwrap_or_default();
        let of = |schema: Value| {
            let mut compiler = Compiler { definitions: definitions.clone(), named: BTreeMap::new(), all: Vec::new() };
            let id = compiler.compile(&schema);
            compiler.all[id].clone()
        };
        let (wide, narrow) = (i64::MAX as u64, u64::from(u32::MAX));
        let item = Id::MIN;
        for (schema, shape) in [
            (json!({ "type": "string" }), Shape::Text(Marks::None)),
            (json!({ "type": "string", "x-marks": "printed" }), Shape::Text(Marks::Printed)),
            (json!({ "type": "string", "x-marks": "typed" }), Shape::Text(Marks::Typed)),
            (json!({ "type": ["string", "null"] }), Shape::Text(Marks::None)),
            (json!({ "type": "string", "pattern": "x" }), Shape::Duration),
            (json!({ "type": "integer" }), Shape::Whole { min: 0, max: wide }),
            (json!({ "type": "integer", "format": "uint32" }), Shape::Whole { min: 0, max: narrow }),
            (json!({ "type": "integer", "format": "uint64" }), Shape::Whole { min: 0, max: wide }),
            (json!({ "type": "integer", "minimum": 3, "maximum": 9 }), Shape::Whole { min: 3, max: 9 }),
            (json!({ "type": "boolean" }), Shape::Flag),
            (json!({ "$ref": "#/$defs/X" }), Shape::Flag),
            (json!({ "anyOf": [{ "type": "null" }, { "$ref": "#/$defs/X" }] }), Shape::Flag),
            (json!({ "anyOf": [{ "type": "boolean" }, { "type": "null" }] }), Shape::Flag),
            (json!({ "type": "array", "items": { "type": "boolean" } }), Shape::List { item, max: limits::LIST }),
            (json!({ "type": "array", "items": { "type": "boolean" }, "maxItems": 2 }), Shape::List { item, max: 2 }),
            (json!({ "type": "object", "additionalProperties": { "type": "boolean" } }), Shape::Map { value: item }),
            (json!({ "type": "object", "additionalProperties": true }), Shape::Map { value: item }),
            (json!({ "type": "object", "additionalProperties": false }), Shape::Any),
            (json!({ "type": "object" }), Shape::Any),
            (json!({}), Shape::Any),
        ] {
            assert_eq!(of(schema.clone()), shape, "{schema}");
        }
        let case = |word: &str, value: Option<Id>| Case { word: word.to_owned(), value };
        assert_eq!(of(json!({ "enum": ["a", "b"] })), Shape::Choice(vec![case("a", None), case("b", None)]));
        let cases = json!([{ "const": "a" }, { "enum": ["b"] }, { "properties": { "c": { "type": "boolean" } } }, {}]);
        assert_eq!(
            of(json!({ "oneOf": cases })),
            Shape::Choice(vec![case("a", None), case("b", None), case("c", Some(item))])
        );
        let keys = json!({ "a": { "type": "boolean", "description": "It is." }, "b": { "type": "boolean" } });
        let Shape::Struct(fields) = of(json!({ "type": "object", "properties": keys, "required": ["b"] })) else {
            panic!()
        };
        let fields: Vec<_> =
            fields.iter().map(|field| (field.key.as_str(), field.required, field.doc.as_str())).collect();
        assert_eq!(fields, [("a", false, "It is."), ("b", true, "")]);
    }

    #[test]
    fn a_field_is_found_by_its_key_in_a_table_only() {
        let key = |table: Id, key: &str| SHAPES.field(table, key).map(|field| field.key.as_str());
        assert_eq!(
            [key(SHAPES.scenario, "turns"), key(SHAPES.scenario, "x"), key(SHAPES.turn, "say")],
            [Some("turns"), None, None]
        );
        assert_eq!(SHAPES.get(Id::MAX), &Shape::Any);
        let Shape::List { item, max: limits::LIST } = SHAPES.get(SHAPES.list_of_words) else { panic!("a list") };
        assert_eq!(SHAPES.get(*item), &Shape::Text(Marks::None));
        let (shapes, whole) = Shapes::of::<crate::turns::Task>();
        let Shape::Struct(fields) = shapes.get(whole) else { panic!("a table") };
        assert_eq!(fields.iter().map(|field| field.key.as_str()).collect::<Vec<_>>(), ["description", "turns"]);
        assert_eq!((shapes.scenario, shapes.turn), (whole, Id::MAX));
    }
}
