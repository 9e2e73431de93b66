//! A JSON text of the wire: kept as it came, read when somebody looks into it.
//!
//! Invariant: the text is what came over the wire, so a trace writes it back without reading it; two are equal
//! when their texts are. Most of a trace is never looked into, and reading all of it was most of a cell's time.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

/// A JSON text. It dereferences to its value.
#[derive(Clone)]
pub struct Json(Arc<Inner>);

struct Inner {
    text: Box<RawValue>,
    value: OnceLock<Value>,
}

impl Json {
    /// The text of a body or an event; what is no JSON becomes a JSON string.
    pub fn of_text(text: &str) -> Json {
        match serde_json::from_str::<Box<RawValue>>(text) {
            Ok(text) => Json(Arc::new(Inner { text, value: OnceLock::new() })),
            Err(_) => Json::from(Value::String(text.to_owned())),
        }
    }

    /// The text.
    pub fn text(&self) -> &str {
        self.0.text.get()
    }

    /// A copy of its value.
    pub fn clone_value(&self) -> Value {
        (**self).clone()
    }

    /// Its member `type`, without reading the rest; empty where there is none.
    pub fn kind(&self) -> Cow<'_, str> {
        #[derive(Deserialize)]
        struct Kind<'a> {
            #[serde(rename = "type", borrow, default)]
            kind: Cow<'a, str>,
        }
        serde_json::from_str::<Kind<'_>>(self.text()).map(|kind| kind.kind).unwrap_or_default()
    }
}

impl Deref for Json {
    type Target = Value;

    fn deref(&self) -> &Value {
        self.0.value.get_or_init(|| serde_json::from_str(self.text()).unwrap_or(Value::Null))
    }
}

impl From<Value> for Json {
    fn from(value: Value) -> Json {
        let text = RawValue::from_string(value.to_string()).unwrap_or_else(|_| RawValue::NULL.to_owned());
        Json(Arc::new(Inner { text, value: OnceLock::from(value) }))
    }
}

impl PartialEq for Json {
    fn eq(&self, other: &Json) -> bool {
        self.text() == other.text()
    }
}

impl fmt::Debug for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        self.0.text.serialize(s)
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Json, D::Error> {
        let text = Box::<RawValue>::deserialize(d)?;
        Ok(Json(Arc::new(Inner { text, value: OnceLock::new() })))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_text_is_written_back_as_it_came() {
        let text = r#"{"b":1,"a":{"type":"inner"},"type":"question.asked","t":1.50}"#;
        let json = Json::of_text(text);
        assert_eq!(serde_json::to_string(&json).ok().as_deref(), Some(text));
        assert_eq!(json["a"]["type"], "inner");
        assert_eq!(json.kind(), "question.asked");
    }

    #[test]
    fn what_is_no_json_is_a_string() {
        assert_eq!(*Json::of_text("no json"), json!("no json"));
        assert_eq!(Json::of_text("[1]").kind(), "");
        assert_eq!(Json::of_text(r#"{"type":7}"#).kind(), "");
    }
}
