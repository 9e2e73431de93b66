//! What strategies there are: name, version, seat, origin, parameters, constructor.
//!
//! Invariant: a name with its version means one behaviour for ever. A name without a version, where it has
//! several, is an error that lists them.

use crate::Strategy;
use rehang_scenario::Span;
use std::collections::BTreeMap;

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

/// A way to reach an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Wire {
    /// A process that prints, ends, and can be ended.
    Process,
    /// Claude Code's stream-json and control protocol, both ways.
    ClaudeStream,
    /// opencode's HTTP and SSE.
    OpencodeHttp,
    /// PawWork's further routes.
    PawworkHttp,
    /// The inside of a Claude Code persona.
    InClaude,
    /// The inside of an opencode persona (opencode, altimate-code, PawWork).
    InOpencode,
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
    /// A count.
    Count(u32),
    /// One of these words; the first is the default.
    Word(&'static [&'static str]),
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
}
