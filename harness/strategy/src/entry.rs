//! The description of a strategy: its name and version, its seat, its parameters, how it is made.
//!
//! Invariant: a name with its version means one behaviour for ever.

use crate::Strategy;
use rehang_words::Span;
pub use rehang_words::Wire;
use std::collections::BTreeMap;
use std::fmt;

/// One strategy in one version.
#[derive(Debug, Clone, Copy)]
pub struct Entry {
    /// Name and version: `idle@f54b32f`.
    pub name: &'static str,
    /// The seat in which it plays.
    pub seat: Seat,
    /// The system and the version that it is taken from.
    pub origin: &'static str,
    /// One line: what it detects and what it does then.
    pub summary: &'static str,
    /// The wires that it can sit on; one of the agent's must be among them.
    pub speaks: &'static [Wire],
    /// The parameters that it takes.
    pub params: &'static [Param],
    /// Makes a strategy with these parameters.
    pub build: fn(&Params) -> Box<dyn Strategy>,
}

impl Entry {
    /// The name without the version: `idle`.
    pub fn family(&self) -> &'static str {
        self.name.split_once('@').map_or(self.name, |(family, _)| family)
    }

    /// The version: `f54b32f`; `None` if there is only one.
    pub fn version(&self) -> Option<&'static str> {
        self.name.split_once('@').map(|(_, version)| version)
    }
}

/// The text of `rehang list --strategies`: name and seat, what it does, where it is from, its parameters.
impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let speaks: Vec<&str> = self.speaks.iter().map(|wire| wire.name()).collect();
        let speaks = if speaks.is_empty() { String::new() } else { format!(": {}", speaks.join(" or ")) };
        writeln!(f, "{}  [{}{speaks}]", self.name, self.seat.name())?;
        writeln!(f, "    {}", self.summary)?;
        writeln!(f, "    from: {}", self.origin)?;
        for param in self.params {
            writeln!(f, "    {}={}  {}", param.name, param.default, param.doc)?;
        }
        Ok(())
    }
}

/// A stack with a name of its own. With an agent, those of its members play that have a seat there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Named {
    /// The stack's name: `guard`.
    pub name: &'static str,
    /// The stack's members, as a stack is written.
    pub members: &'static str,
    /// One line: what the stack is for.
    pub summary: &'static str,
}

/// The text of `rehang list --strategies`.
impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}  [a stack: {}]", self.name, self.members)?;
        writeln!(f, "    {}", self.summary)?;
        writeln!(f, "    takes the parameters of its parts: {}(NAME=VALUE, …)", self.name)
    }
}

/// Where a strategy sits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Seat {
    /// In no seat: the baseline.
    Nowhere,
    /// Inside the agent: at the tool boundary, in the ask layer, at the model stream.
    Inside,
    /// Outside, in the place of the wrapper.
    Outside,
}

impl Seat {
    /// The word for the seat.
    pub fn name(self) -> &'static str {
        match self {
            Seat::Nowhere => "nowhere",
            Seat::Inside => "inside",
            Seat::Outside => "outside",
        }
    }
}

/// The description of a parameter.
#[derive(Debug, Clone, Copy)]
pub struct Param {
    /// The name in brackets: `timeout`.
    pub name: &'static str,
    /// Its kind, and its default.
    pub default: Value,
    /// What it is, with its unit, and the source of the default.
    pub doc: &'static str,
}

/// The value of a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value {
    /// A span of time.
    Span(Span),
    /// A span; zero means the default, as in `Number(env) || default`.
    SpanOr(Span),
    /// A count, from 0.
    Count(u32),
    /// A count; zero means the default.
    CountOr(u32),
    /// One of these words; the first is the default.
    Word(&'static [&'static str]),
    /// A text, such as a label.
    Text(&'static str),
}

/// The default as a text, and for words all of them: `tool|ask`.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Span(span) | Value::SpanOr(span) => span.fmt(f),
            Value::Count(count) | Value::CountOr(count) => count.fmt(f),
            Value::Word(words) => f.write_str(&words.join("|")),
            Value::Text(text) => write!(f, "\"{text}\""),
        }
    }
}

/// A strategy's parameters, checked against its [`Param`]s; a parameter that was not given has its default.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Params {
    /// The spans, by name.
    pub spans: BTreeMap<&'static str, Span>,
    /// The counts, by name.
    pub counts: BTreeMap<&'static str, u32>,
    /// The words, by name.
    pub words: BTreeMap<&'static str, &'static str>,
    /// The texts, by name.
    pub texts: BTreeMap<&'static str, String>,
}

impl Params {
    /// The defaults of these parameters.
    pub fn defaults(params: &[Param]) -> Params {
        let mut all = Params::default();
        for param in params {
            match param.default {
                Value::Span(span) | Value::SpanOr(span) => drop(all.spans.insert(param.name, span)),
                Value::Count(count) | Value::CountOr(count) => drop(all.counts.insert(param.name, count)),
                Value::Word(words) => drop(all.words.insert(param.name, words.first().copied().unwrap_or_default())),
                Value::Text(text) => drop(all.texts.insert(param.name, text.to_owned())),
            }
        }
        all
    }

    /// A span; zero if the strategy has no such parameter.
    pub fn span(&self, name: &str) -> Span {
        self.spans.get(name).copied().unwrap_or_default()
    }

    /// A count; 0 if the strategy has no such parameter.
    pub fn count(&self, name: &str) -> u32 {
        self.counts.get(name).copied().unwrap_or_default()
    }

    /// A word; empty if the strategy has no such parameter.
    pub fn word(&self, name: &str) -> &'static str {
        self.words.get(name).copied().unwrap_or_default()
    }

    /// A text; empty if the strategy has no such parameter.
    pub fn text(&self, name: &str) -> &str {
        self.texts.get(name).map_or("", String::as_str)
    }
}
