//! A JSON text of the wire: kept as it came, parsed when its value is first needed.
//!
//! Invariant: the text is what came over the wire, so a trace writes it back without reading it; two are equal
//! when their texts are. Most of a trace is never looked into, and reading all of it was most of a cell's time. The cells
//! of a scenario send the same texts again and again: a text that this thread has read is not read again.

use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;
use std::borrow::{Borrow, Cow};
use std::cell::RefCell;
use std::collections::HashSet;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::sync::{Arc, LazyLock, OnceLock};

/// The longest text that is remembered, in bytes: events and short answers, not lists of all messages.
const KNOWN_TEXT_MAX: usize = 4 << 10;
/// How much text a thread remembers, in bytes, before it begins anew.
const KNOWN_MAX: usize = 256 << 10;

/// A JSON text. It dereferences to its parsed value.
#[derive(Clone)]
pub struct Json(Arc<Inner>);

struct Inner {
    text: Box<RawValue>,
    value: OnceLock<Arc<Value>>,
    kind: OnceLock<Box<str>>,
    last: OnceLock<Value>,
}

impl Json {
    fn new(text: Box<RawValue>, value: OnceLock<Arc<Value>>) -> Json {
        Json(Arc::new(Inner { text, value, kind: OnceLock::new(), last: OnceLock::new() }))
    }

    /// The text of a body or an event; a text that is not JSON becomes a JSON string.
    pub fn of_text(text: &str) -> Json {
        KNOWN.with_borrow_mut(|known| known.of_text(text))
    }

    /// The text as it came.
    pub fn text(&self) -> &str {
        self.0.text.get()
    }

    /// A copy of its value. If the value has not been parsed yet, it is parsed but not kept here.
    pub fn clone_value(&self) -> Value {
        match self.0.value.get() {
            Some(value) => Value::clone(value),
            None => serde_json::from_str(self.text()).unwrap_or(Value::Null),
        }
    }

    /// Its value, shared with whoever else looks into this text.
    pub fn shared(&self) -> Arc<Value> {
        Arc::clone(self.parsed())
    }

    fn parsed(&self) -> &Arc<Value> {
        self.0.value.get_or_init(|| Arc::new(serde_json::from_str(self.text()).unwrap_or(Value::Null)))
    }

    /// Its member `type`, without parsing what comes after it; empty if there is none.
    pub fn kind(&self) -> &str {
        self.0.kind.get_or_init(|| {
            let mut kind = Cow::default();
            // A visitor that stops inside an object gets an error; by then it has found what it looked for.
            let _ = serde_json::Deserializer::from_str(self.text()).deserialize_map(Kind(&mut kind));
            kind.into()
        })
    }

    /// The last element of an array, without parsing those before it; null if there is none.
    pub fn last(&self) -> &Value {
        self.0.last.get_or_init(|| {
            let all: Vec<&RawValue> = serde_json::from_str(self.text()).unwrap_or_default();
            all.last().and_then(|last| serde_json::from_str(last.get()).ok()).unwrap_or_default()
        })
    }
}

thread_local! {
    static KNOWN: RefCell<Known> = RefCell::default();
}

/// What this thread has read. It decides nothing: a text that is not here is read.
#[derive(Default)]
struct Known {
    texts: HashSet<ByText, foldhash::fast::RandomState>,
    /// Their length in sum.
    bytes: usize,
}

/// Found by its text.
struct ByText(Json);

impl Known {
    fn of_text(&mut self, text: &str) -> Json {
        if let Some(ByText(known)) = self.texts.get(text) {
            return known.clone();
        }
        let Ok(raw) = serde_json::from_str::<Box<RawValue>>(text) else {
            return Json::from(Value::String(text.to_owned()));
        };
        let json = Json::new(raw, OnceLock::new());
        // the text of a value that has space around it is shorter than what came
        if text.len() <= KNOWN_TEXT_MAX && json.text().len() == text.len() {
            self.bytes += text.len();
            if self.bytes > KNOWN_MAX {
                *self = Known { bytes: text.len(), ..Known::default() };
            }
            self.texts.insert(ByText(json.clone()));
        }
        json
    }
}

impl Borrow<str> for ByText {
    fn borrow(&self) -> &str {
        self.0.text()
    }
}

impl Hash for ByText {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.text().hash(state);
    }
}

impl PartialEq for ByText {
    fn eq(&self, other: &ByText) -> bool {
        self.0 == other.0
    }
}

impl Eq for ByText {}

/// Reads an object's member `type`.
struct Kind<'k, 'de>(&'k mut Cow<'de, str>);

/// A string borrowed from the text itself, if nothing in it is escaped.
#[derive(Deserialize)]
struct Borrowed<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'de> Visitor<'de> for Kind<'_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(Borrowed(key)) = map.next_key()? {
            if key == "type" {
                *self.0 = map.next_value::<Borrowed<'_>>()?.0;
                break;
            }
            map.next_value::<IgnoredAny>()?;
        }
        Ok(())
    }
}

impl Deref for Json {
    type Target = Value;

    fn deref(&self) -> &Value {
        self.parsed()
    }
}

/// What a request without a body has: most that poll.
static NULL: LazyLock<Json> = LazyLock::new(|| Json::new(RawValue::NULL.to_owned(), OnceLock::new()));

impl From<Value> for Json {
    fn from(value: Value) -> Json {
        if value.is_null() {
            return NULL.clone();
        }
        let text = serde_json::value::to_raw_value(&value).unwrap_or_else(|_| RawValue::NULL.to_owned());
        Json::new(text, OnceLock::from(Arc::new(value)))
    }
}

impl PartialEq for Json {
    fn eq(&self, other: &Json) -> bool {
        self.text() == other.text()
    }
}

impl Hash for Json {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.text().hash(state);
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
        Ok(Json::new(text, OnceLock::new()))
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
    fn the_last_is_that_of_an_array() {
        assert_eq!(*Json::of_text(r#"[{"a":1}, {"a":[2]}]"#).last(), json!({ "a": [2] }));
        assert_eq!(*Json::of_text("[]").last(), Value::Null);
        assert_eq!(*Json::of_text(r#"{"a":1}"#).last(), Value::Null);
    }

    #[test]
    fn a_text_that_came_before_is_the_same_one() {
        let text = r#"{"type":"a"}"#;
        assert!(Arc::ptr_eq(&Json::of_text(text).0, &Json::of_text(text).0));
        // what is kept of this has other bytes than what came
        assert_eq!(Json::of_text(r#" {"type":"a"}"#).text(), text);
        let long = |at: usize| format!("\"{}{at}\"", "x".repeat(KNOWN_TEXT_MAX / 2));
        for at in 0..2 * KNOWN_MAX / KNOWN_TEXT_MAX {
            assert_eq!(Json::of_text(&long(at)).text(), long(at));
        }
        KNOWN.with_borrow(|known| {
            let held: usize = known.texts.iter().map(|known| known.0.text().len()).sum();
            assert!(held == known.bytes && held <= KNOWN_MAX, "{held} of {}", known.bytes);
        });
        let longer = format!("\"{}\"", "x".repeat(KNOWN_TEXT_MAX));
        assert!(!Arc::ptr_eq(&Json::of_text(&longer).0, &Json::of_text(&longer).0));
    }

    #[test]
    fn what_is_no_json_is_a_string() {
        assert_eq!(*Json::of_text("no json"), json!("no json"));
        assert_eq!(Json::of_text("[1]").kind(), "");
        assert_eq!(Json::of_text(r#"{"type":7}"#).kind(), "");
        assert_eq!(Json::of_text(r#"{"id":"evt_1","type":"a\nb","type":"c"}"#).kind(), "a\nb");
        assert_eq!(Json::of_text(r#"{"id":"evt_1"}"#).kind(), "");
    }

    #[test]
    fn a_value_can_be_kept_whether_or_not_somebody_looked_into_it() {
        let json = Json::of_text(r#"{"id":"que_1"}"#);
        assert_eq!(json.clone_value(), json!({ "id": "que_1" }));
        assert_eq!(json["id"], "que_1");
        assert_eq!(json.clone_value(), json!({ "id": "que_1" }));
        assert!(std::ptr::eq(&*json.shared(), &*json), "it is read once");
    }

    #[test]
    fn it_is_shown_and_compared_by_its_text() {
        let json = Json::of_text(r#"{"a": 1}"#);
        assert_eq!(format!("{json} {json:?}"), r#"{"a": 1} {"a": 1}"#);
        assert_eq!(json, Json::of_text(r#"{"a": 1}"#));
        assert_ne!(json, Json::of_text(r#"{"a":1}"#));
    }
}
