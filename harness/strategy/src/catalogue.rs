//! What strategies there are: name, version, seat, origin, parameters, constructor.
//!
//! Invariant: a name with its version means one behaviour for ever. A name without a version, where it has
//! several, is an error that lists them ([`crate::spec`]).

use crate::Strategy;
pub use rehang_scenario::Wire;
use rehang_scenario::{Agent, Span};
use std::collections::BTreeMap;
use std::fmt;

/// Every strategy in every version, in the order of the design's table: `none` first.
pub fn all() -> Vec<&'static Entry> {
    FAMILIES.iter().flat_map(|family| family.iter()).collect()
}

/// The stacks that have a name of their own.
pub fn named() -> &'static [Named] {
    crate::guard::STACKS
}

/// Whether a strategy has its seat with this agent.
///
/// # Errors
/// Why not, in words for the summary of what was left out; the same words for the same reason.
pub fn fits(entry: &Entry, agent: &Agent) -> Result<(), String> {
    let has = agent.wires();
    if entry.seat == Seat::Nowhere || entry.speaks.iter().any(|wire| has.contains(wire)) {
        return Ok(());
    }
    let wants: Vec<&str> = entry.speaks.iter().map(|wire| wire.name()).collect();
    let has: Vec<&str> = has.iter().map(|wire| wire.name()).collect();
    Err(format!("it needs {}; this agent has {}", wants.join(" or "), has.join(", ")))
}

/// The stacks of an agent's matrix, `none` first: each strategy that fits, alone and in each of its
/// placements ([`VARIED`]), and the named stacks of which a member fits. The parts of a named stack play only there.
pub fn matrix(agent: &Agent) -> Vec<String> {
    let single = alone().filter(|entry| fits(entry, agent).is_ok()).flat_map(placements);
    let stacks = named().iter().filter(|stack| crate::stack(stack.name).is_ok_and(|s| s.seat_in(agent).is_ok()));
    single.chain(stacks.map(|stack| stack.name.to_owned())).collect()
}

/// The stacks of any agent's matrix, `none` first.
pub fn stacks() -> Vec<String> {
    alone().flat_map(placements).chain(named().iter().map(|stack| stack.name.to_owned())).collect()
}

/// Those that stand alone; the parts of a named stack do not.
fn alone() -> impl Iterator<Item = &'static Entry> {
    let is_part = |entry: &&Entry| crate::guard::ENTRIES.iter().any(|part| part.name == entry.name);
    all().into_iter().filter(move |entry| !is_part(entry))
}

/// Parameters that are a placement rather than a setting: the matrix takes each of their words.
pub const VARIED: &[&str] = &["at", "as"];

fn placements(entry: &'static Entry) -> Vec<String> {
    let varied = entry.params.iter().find(|param| VARIED.contains(&param.name));
    match varied.map(|param| (param.name, param.default)) {
        Some((name, Value::Word(words))) => words.iter().map(|w| format!("{}({name}={w})", entry.name)).collect(),
        _ => vec![entry.name.to_owned()],
    }
}

const FAMILIES: &[&[Entry]] = &[
    crate::none::ENTRIES,
    crate::wall::ENTRIES,
    crate::idle::ENTRIES,
    crate::auto_answer::ENTRIES,
    crate::auto_approve::ENTRIES,
    crate::cli_manager::ENTRIES,
    crate::companion::ENTRIES,
    crate::pawwork::ENTRIES,
    crate::not_offered::ENTRIES,
    crate::blind_timeout::ENTRIES,
    crate::pending_ask::ENTRIES,
    crate::guard::ENTRIES,
];

/// One strategy in one version.
#[derive(Debug, Clone, Copy)]
pub struct Entry {
    /// Name and version: `idle@f54b32f`.
    pub name: &'static str,
    /// Where it sits.
    pub seat: Seat,
    /// The system and the version that it comes from.
    pub origin: &'static str,
    /// One line: what it detects and what it does then.
    pub summary: &'static str,
    /// The wires that it can sit on; one of the agent's must be among them.
    pub speaks: &'static [Wire],
    /// Its parameters.
    pub params: &'static [Param],
    /// Makes one.
    pub build: fn(&Params) -> Box<dyn Strategy>,
}

impl Entry {
    /// The name without the version: `idle`.
    pub fn family(&self) -> &'static str {
        self.name.split_once('@').map_or(self.name, |(family, _)| family)
    }

    /// The version: `f54b32f`; none where there is only one.
    pub fn version(&self) -> Option<&'static str> {
        self.name.split_once('@').map(|(_, version)| version)
    }
}

/// As `rehang strategies` lists it: name and seat, what it does, where it is from, its parameters.
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
    /// Its name: `guard`.
    pub name: &'static str,
    /// Its members, as a stack is written.
    pub members: &'static str,
    /// One line: what it is for.
    pub summary: &'static str,
}

/// Where a strategy sits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Seat {
    /// Nowhere: the baseline.
    Nowhere,
    /// Inside the agent: tool boundary, ask layer, model stream.
    Inside,
    /// Outside: the wrapper.
    Outside,
}

impl Seat {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Seat::Nowhere => "nowhere",
            Seat::Inside => "inside",
            Seat::Outside => "outside",
        }
    }
}

/// A parameter.
#[derive(Debug, Clone, Copy)]
pub struct Param {
    /// Its name in brackets: `timeout`.
    pub name: &'static str,
    /// Its kind and default.
    pub default: Value,
    /// What it is, with its unit, and the source of the default.
    pub doc: &'static str,
}

/// A parameter's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value {
    /// A span.
    Span(Span),
    /// A span of which zero stands for the default, as in `Number(env) || default`.
    SpanOr(Span),
    /// A count.
    Count(u32),
    /// A count of which zero stands for the default.
    CountOr(u32),
    /// One of these words; the first is the default.
    Word(&'static [&'static str]),
    /// A text, such as a label.
    Text(&'static str),
}

/// The default, and for words all of them: `tool|ask`.
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

/// A strategy's parameters, checked against its [`Param`]s; what was not given has its default.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Params {
    /// Spans by name.
    pub spans: BTreeMap<&'static str, Span>,
    /// Counts by name.
    pub counts: BTreeMap<&'static str, u32>,
    /// Words by name.
    pub words: BTreeMap<&'static str, &'static str>,
    /// Texts by name.
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

    /// A span; none at all where the strategy has no such parameter.
    pub fn span(&self, name: &str) -> Span {
        self.spans.get(name).copied().unwrap_or_default()
    }

    /// A count; 0 where the strategy has no such parameter.
    pub fn count(&self, name: &str) -> u32 {
        self.counts.get(name).copied().unwrap_or_default()
    }

    /// A word; empty where the strategy has no such parameter.
    pub fn word(&self, name: &str) -> &'static str {
        self.words.get(name).copied().unwrap_or_default()
    }

    /// A text; empty where the strategy has no such parameter.
    pub fn text(&self, name: &str) -> &str {
        self.texts.get(name).map_or("", String::as_str)
    }
}

#[cfg(test)]
mod tests;
