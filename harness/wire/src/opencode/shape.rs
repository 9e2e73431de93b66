//! The shape of an answer: which keys it has and what kind of value each holds, without the values.
//!
//! Invariant: values that two releases, or a release and a fake, give in different words or numbers have one shape; a
//! key more, a key less or another kind of value is another shape.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// Objects whose keys are freely chosen names: providers, models, keys of a keyboard, patterns of commands.
const NAMED: [&str; 5] = ["models", "default", "provider", "keybinds", "bash"];
/// The key that replaces all such names.
const ANY_NAME: &str = "*";

/// Routes as a `/doc` names them, each with the shape of its answer with status 200.
pub type Shapes = BTreeMap<String, Shape>;

/// The target that asks a route of a `/doc`, with these ids in its path; `None` if it needs another id.
pub fn target_of(path: &str, session: &str, message: &str) -> Option<String> {
    let filled = path.replace("{messageID}", message);
    let filled = match filled.split_once("/session/{") {
        Some((before, after)) => format!("{before}/session/{session}{}", after.split_once('}')?.1),
        None => filled,
    };
    (!filled.contains(['{', '*'])).then_some(filled)
}

/// The shape of a JSON value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shape {
    /// `null`, `boolean`, `number` or `string`; `any` if several were seen in one place.
    Scalar(&'static str),
    /// A list, and the shape of its elements; `None` if it was empty.
    List(Option<Box<Shape>>),
    /// An object: its keys.
    Object(BTreeMap<String, Field>),
}

/// A key of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// The shape of its value.
    pub shape: Shape,
    /// Whether some elements of the list that the object is in have no such key.
    pub optional: bool,
}

const KINDS: [&str; 5] = ["null", "boolean", "number", "string", "any"];

impl Shape {
    /// The shape of this value.
    pub fn of(value: &Value) -> Shape {
        Shape::within(value, "")
    }

    fn within(value: &Value, key: &str) -> Shape {
        match value {
            Value::Null => Shape::Scalar("null"),
            Value::Bool(_) => Shape::Scalar("boolean"),
            Value::Number(_) => Shape::Scalar("number"),
            Value::String(_) => Shape::Scalar("string"),
            Value::Array(all) => {
                let one = all.iter().map(|one| Shape::within(one, "")).reduce(Shape::join);
                Shape::List(one.map(Box::new))
            }
            Value::Object(fields) => {
                let mut shapes: BTreeMap<String, Field> = BTreeMap::new();
                for (name, value) in fields {
                    let shape = Shape::within(value, name);
                    let name = if NAMED.contains(&key) { ANY_NAME } else { name };
                    let shape = match shapes.remove(name) {
                        Some(other) => other.shape.join(shape),
                        None => shape,
                    };
                    shapes.insert(name.to_owned(), Field { shape, optional: false });
                }
                Shape::Object(shapes)
            }
        }
    }

    /// The shape that covers both shapes.
    fn join(self, other: Shape) -> Shape {
        match (self, other) {
            (Shape::Scalar(one), Shape::Scalar(other)) if one == other => Shape::Scalar(one),
            (Shape::List(None), Shape::List(other)) | (Shape::List(other), Shape::List(None)) => Shape::List(other),
            (Shape::List(Some(one)), Shape::List(Some(other))) => Shape::List(Some(Box::new(one.join(*other)))),
            (Shape::Object(mut one), Shape::Object(mut other)) => {
                let mut joined = BTreeMap::new();
                for (name, field) in std::mem::take(&mut one) {
                    let field = match other.remove(&name) {
                        Some(its) => {
                            Field { shape: field.shape.join(its.shape), optional: field.optional || its.optional }
                        }
                        None => Field { optional: true, ..field },
                    };
                    joined.insert(name, field);
                }
                joined.extend(other.into_iter().map(|(name, field)| (name, Field { optional: true, ..field })));
                Shape::Object(joined)
            }
            _ => Shape::Scalar("any"),
        }
    }

    /// Where a fake's shape differs from this one, a release's: a pointer, and what is wrong there. Empty lists fit
    /// every list.
    pub fn differences(&self, fake: &Shape) -> Vec<String> {
        let mut out = Vec::new();
        self.differ(fake, "", &mut out);
        out
    }

    fn differ(&self, fake: &Shape, at: &str, out: &mut Vec<String>) {
        match (self, fake) {
            (Shape::Scalar("any"), _) | (Shape::List(None), Shape::List(_)) | (Shape::List(_), Shape::List(None)) => {}
            (Shape::List(Some(one)), Shape::List(Some(other))) => one.differ(other, &format!("{at}/0"), out),
            (Shape::Object(fields), Shape::Object(others)) => {
                for (name, field) in fields {
                    let at = format!("{at}/{name}");
                    match others.get(name) {
                        Some(other) if other.optional && !field.optional => {
                            out.push(format!("{at}: the fake leaves it out at times"));
                        }
                        Some(other) => field.shape.differ(&other.shape, &at, out),
                        None if field.optional => {}
                        None => out.push(format!("{at}: the fake has no such key")),
                    }
                }
                let more = others.keys().filter(|name| !fields.contains_key(*name));
                out.extend(more.map(|name| format!("{at}/{name}: the release has no such key")));
            }
            (one, other) if one == other => {}
            (one, other) => out.push(format!("{at}: {} in the release, {} in the fake", one.kind(), other.kind())),
        }
    }

    fn kind(&self) -> &'static str {
        match self {
            Shape::Scalar(kind) => kind,
            Shape::List(_) => "a list",
            Shape::Object(_) => "an object",
        }
    }

    fn value(&self) -> Value {
        match self {
            Shape::Scalar(kind) => json!(kind),
            Shape::List(None) => json!([]),
            Shape::List(Some(one)) => json!([one.value()]),
            Shape::Object(fields) => {
                let name = |name: &str, optional| if optional { format!("{name}?") } else { name.to_owned() };
                let of = fields.iter().map(|(key, field)| (name(key, field.optional), field.shape.value()));
                Value::Object(of.collect::<Map<String, Value>>())
            }
        }
    }

    fn read(value: &Value) -> Option<Shape> {
        Some(match value {
            Value::String(kind) => Shape::Scalar(KINDS.into_iter().find(|known| known == kind)?),
            Value::Array(all) => match all.as_slice() {
                [] => Shape::List(None),
                [one] => Shape::List(Some(Box::new(Shape::read(one)?))),
                _ => return None,
            },
            Value::Object(fields) => {
                let field = |(name, value): (&String, &Value)| {
                    let (key, optional) = match name.strip_suffix('?') {
                        Some(key) => (key, true),
                        None => (name.as_str(), false),
                    };
                    Some((key.to_owned(), Field { shape: Shape::read(value)?, optional }))
                };
                Shape::Object(fields.iter().map(field).collect::<Option<_>>()?)
            }
            _ => return None,
        })
    }
}

/// As JSON: a kind is a text, a list holds the shape of its elements, a key that may be missing ends with `?`.
impl Serialize for Shape {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.value().serialize(to)
    }
}

impl<'de> Deserialize<'de> for Shape {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Shape, D::Error> {
        let value = Value::deserialize(from)?;
        Shape::read(&value).ok_or_else(|| D::Error::custom(format!("no shape: {value}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn differ(release: Value, fake: Value) -> Vec<String> {
        Shape::of(&release).differences(&Shape::of(&fake))
    }

    #[test]
    fn values_do_not_matter_and_keys_do() {
        assert_eq!(differ(json!({ "a": 1, "b": [] }), json!({ "a": 2, "b": ["x"] })), [""; 0]);
        assert_eq!(differ(json!({ "a": 1 }), json!({ "b": 1 })).len(), 2);
        assert_eq!(differ(json!({ "a": 1 }), json!({ "a": "1" })), ["/a: number in the release, string in the fake"]);
        assert_eq!(differ(json!([{ "a": 1 }]), json!([{ "a": 1 }, {}])), ["/0/a: the fake leaves it out at times"]);
        assert_eq!(differ(json!([{ "a": 1 }, {}]), json!([{}])), [""; 0]);
    }

    #[test]
    fn names_that_somebody_chose_are_one() {
        let of = |name: &str| json!({ "models": { name: { "id": name } } });
        assert_eq!(differ(of("a"), of("b")), [""; 0]);
    }

    #[test]
    fn a_shape_that_is_written_reads_the_same() {
        let shape = Shape::of(&json!([{ "a": null, "b": [{}], "c": true }, { "a": 3 }]));
        let text = serde_json::to_string(&shape).unwrap();
        assert_eq!(text, r#"[{"a":"any","b?":[{}],"c?":"boolean"}]"#);
        assert_eq!(serde_json::from_str::<Shape>(&text).unwrap(), shape);
        assert!(serde_json::from_str::<Shape>("3").is_err());
    }
}
