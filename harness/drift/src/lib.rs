//! Holds the fakes to recorded exchanges of the real releases: the golden recordings in the tests, and fresh ones that
//! `cargo xtask drift` makes.
//!
//! A recording is one exchange: what a client or a host sent, and what the release said, in order. The fake gets the same
//! requests at the same points and the same words of the model; what it says is compared event by event, after ids,
//! instants and folders are named. What is left out on purpose stands in the allow-lists of [`claude`] and [`opencode`],
//! each entry with its reason, and nowhere else.
//!
//! Invariant: nothing is compared loosely but where an allow-list says so and why.

pub mod claude;
pub mod mask;
pub mod opencode;
pub mod session;

use serde_json::Value;

/// One place where a fake and its recording differ.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    /// Where: `message 3`, `turn, at 12`, `POST /session`.
    pub at: String,
    /// What the release said; none where it said nothing more.
    pub recorded: Option<Value>,
    /// What the fake said; none where it said nothing more.
    pub fake: Option<Value>,
}

impl std::fmt::Display for Difference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let show = |value: &Option<Value>| value.as_ref().map_or_else(|| "(nothing)".to_owned(), Value::to_string);
        write!(f, "{}\n  release {}\n  fake    {}", self.at, show(&self.recorded), show(&self.fake))
    }
}

/// What a comparison came to.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Compared {
    /// How many events or messages were held against each other.
    pub events: usize,
    /// Where they differ.
    pub differences: Vec<Difference>,
}

impl Compared {
    /// Compares two lists, place by place; behind the first place that differs the rest says little, but its length.
    fn lists(&mut self, at: &str, recorded: &[Value], fake: &[Value]) {
        self.events += recorded.len();
        for place in 0..recorded.len().max(fake.len()) {
            let (recorded, fake) = (recorded.get(place), fake.get(place));
            // As text: the order of keys counts, where it is the release's own.
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

    /// Adds another comparison's.
    pub fn add(&mut self, other: Compared) {
        self.events += other.events;
        self.differences.extend(other.differences);
    }
}
