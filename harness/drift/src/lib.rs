//! Compares the fakes with recorded exchanges of the real releases: the golden recordings in the tests, and fresh ones
//! that `cargo xtask drift` makes.
//!
//! A recording is one exchange: what a client or a host sent, and what the release said, in order. The fake gets the
//! same requests at the same points and the same words of the model; what it says is compared event by event, after
//! ids, instants and folders are named. What is left out on purpose is in the allow-lists of [`claude`],
//! [`codex`], [`gemini`] and [`opencode`], each entry with its reason, and nowhere else.
//!
//! Invariant: every comparison is exact, unless an allow-list names the exception and its reason.

pub mod claude;
pub mod codex;
pub mod flags;
pub mod gemini;
pub mod mask;
pub mod opencode;
pub mod routes;
pub mod session;
pub mod streams;

use rehang_scenario::VTime;
use serde_json::Value;

/// One place where a fake and its recording differ.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    /// Where: `message 3`, `turn, at 12`, `POST /session`.
    pub at: String,
    /// What the release said; `None` if it said nothing more.
    pub recorded: Option<Value>,
    /// What the fake said; `None` if it said nothing more.
    pub fake: Option<Value>,
}

impl std::fmt::Display for Difference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let show = |value: &Option<Value>| value.as_ref().map_or_else(|| "(nothing)".to_owned(), Value::to_string);
        let mut places = Vec::new();
        if let (Some(recorded), Some(fake)) = (&self.recorded, &self.fake)
            && recorded["type"] == fake["type"]
        {
            unlike(recorded, fake, String::new(), &mut places);
        }
        if places.is_empty() || places.iter().any(|(place, ..)| place.is_empty()) {
            return write!(f, "{}\n  release {}\n  fake    {}", self.at, show(&self.recorded), show(&self.fake));
        }
        let kind = self.recorded.as_ref().and_then(|value| value["type"].as_str()).unwrap_or_default();
        write!(f, "{} {kind}", self.at)?;
        for (place, recorded, fake) in &places {
            write!(f, "\n  {place}\n    release {}\n    fake    {}", show(recorded), show(fake))?;
        }
        Ok(())
    }
}

/// The most places of one event that are shown.
const PLACES_MAX: usize = 12;

/// The smallest parts of two values that differ, with their JSON pointers.
fn unlike(recorded: &Value, fake: &Value, at: String, all: &mut Vec<(String, Option<Value>, Option<Value>)>) {
    // as text: the order of keys counts too
    let (recorded_text, fake_text) = (recorded.to_string(), fake.to_string());
    if all.len() >= PLACES_MAX || recorded_text == fake_text {
        return;
    }
    let mut inside = |key: &str, recorded: Option<&Value>, fake: Option<&Value>| {
        let at = format!("{at}/{key}");
        match (recorded, fake) {
            (Some(recorded), Some(fake)) => unlike(recorded, fake, at, all),
            (recorded, fake) => all.push((at, recorded.cloned(), fake.cloned())),
        }
    };
    match (recorded, fake) {
        (Value::Object(left), Value::Object(right)) if left != right => {
            left.iter().for_each(|(key, value)| inside(key, Some(value), right.get(key)));
            let more = right.iter().filter(|(key, _)| !left.contains_key(*key));
            more.for_each(|(key, value)| inside(key, None, Some(value)));
        }
        (Value::Array(left), Value::Array(right)) => {
            for place in 0..left.len().max(right.len()) {
                inside(&place.to_string(), left.get(place), right.get(place));
            }
        }
        // Two objects that differ in the order of their keys alone are shown whole.
        _ => all.push((at, Some(recorded.clone()), Some(fake.clone()))),
    }
}

/// What a comparison came to.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Compared {
    /// How many events or messages were compared.
    pub events: usize,
    /// Where they differ.
    pub differences: Vec<Difference>,
    /// The release that the fake played where no fake plays the recorded one.
    pub stands_in: Option<String>,
    /// How many processes of the fake's commands go on after its end, if it was played as a process.
    pub left: usize,
    /// What the fake wrote to stderr, if it was played as a process.
    pub err: String,
    /// When the fake asked its model, in virtual time, if it was played as a process.
    pub asked: Vec<VTime>,
}

/// A line of a stream as a recording has it: a message is a JSON object; all else, a `4` or a `null` too, is text.
pub fn message(line: &str) -> Value {
    serde_json::from_str(line).ok().filter(Value::is_object).unwrap_or_else(|| Value::from(line))
}

impl Compared {
    /// Compares two lists, place by place, up to the first place that differs, since the rest says little. A list that
    /// is shorter differs at the place after its end.
    fn lists(&mut self, at: &str, recorded: &[Value], fake: &[Value]) {
        self.events += recorded.len();
        for place in 0..recorded.len().max(fake.len()) {
            let (recorded, fake) = (recorded.get(place), fake.get(place));
            // As text: the order of keys counts if it is the release's own.
            if recorded.map(Value::to_string) != fake.map(Value::to_string) {
                let (recorded, fake) = (recorded.cloned(), fake.cloned());
                self.differences.push(Difference { at: format!("{at}, at {}", place + 1), recorded, fake });
                return;
            }
        }
    }

    fn differ(&mut self, at: impl Into<String>, recorded: impl Into<Value>, fake: impl Into<Value>) {
        let (recorded, fake) = (Some(recorded.into()), Some(fake.into()));
        self.differences.push(Difference { at: at.into(), recorded, fake });
    }

    /// Adds the counts and differences of another comparison.
    pub fn add(&mut self, other: Compared) {
        self.events += other.events;
        self.differences.extend(other.differences);
    }
}
