//! Those of guard's limits that a user may set: `guard(quiet=20m, person=5m)`.
//!
//! Invariant: each default is above the longest healthy run on record. Who sets a shorter one knows his own runs better;
//! `rehang score --logs` tries it on their logs, `rehang score --strategy` on the corpus.

use super::standing::{CLOSED, CLOSED_IN, ENDLESS, HELD, OF_A_TOOL, PERSON, SILENT, STOPPED};
use super::{AT_WORK, QUIET};
use crate::entry::{Param, Params, Value};
use rehang_hangs::LimitClass;
use rehang_words::Span;

/// The parameters of guard, and of each of its parts.
pub const PARAMS: &[Param] = &[
    Param {
        name: "quiet",
        default: Value::Span(QUIET),
        doc: "how long nothing new may be said while nothing in sight is at work; above the longest silent build on record, 70 minutes",
    },
    Param {
        name: "at-work",
        default: Value::Span(AT_WORK),
        doc: "how long nothing new may be said although something in sight may be at work; above the longest on record, 4 hours",
    },
    Param {
        name: "person",
        default: Value::Span(PERSON),
        doc: "how long an ask may stay open that somebody can answer; above the longest absence on record, 50 minutes",
    },
    Param {
        name: "model",
        default: Value::Span(SILENT),
        doc: "how long the model, or another peer, may send nothing; above the longest wait on record, 25 minutes",
    },
    Param {
        name: "tool",
        default: Value::Span(OF_A_TOOL),
        doc: "how long a tool's command may wait for what nobody in sight gives it; above the longest limit of a tool on record, an hour",
    },
];

/// The limits of one guard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Times {
    /// The longest silence while nothing in sight is at work.
    pub quiet: Span,
    /// The longest silence while something in sight may be at work.
    pub at_work: Span,
    /// The longest wait for a person who can answer.
    pub person: Span,
    /// The longest silence of the model, or of another peer.
    pub model: Span,
    /// The longest wait of a tool's command for what nobody in sight gives it.
    pub tool: Span,
}

impl Default for Times {
    fn default() -> Times {
        Times { quiet: QUIET, at_work: AT_WORK, person: PERSON, model: SILENT, tool: OF_A_TOOL }
    }
}

impl Times {
    /// The limits that these parameters set.
    pub(super) fn of(params: &Params) -> Times {
        let [quiet, at_work, person, model, tool] =
            ["quiet", "at-work", "person", "model", "tool"].map(|name| params.span(name));
        Times { quiet, at_work, person, model, tool }
    }

    /// How long a finding of a class may last, if its agent is not closed in.
    pub fn span_of(&self, class: LimitClass) -> Span {
        match class {
            LimitClass::ClosedIn => CLOSED_IN,
            LimitClass::Closed => CLOSED,
            LimitClass::Endless => ENDLESS,
            LimitClass::Held => HELD,
            LimitClass::Stopped => STOPPED,
            LimitClass::Person => self.person,
            LimitClass::Model => self.model,
            LimitClass::Tool => self.tool,
        }
    }

    /// The longest time that a finding may last.
    pub(super) fn of_a_finding(&self) -> Span {
        // what has a timer in sight is given as long as a tool by default
        self.person.max(self.model).max(self.tool).max(STOPPED).max(OF_A_TOOL)
    }
}

/// A limit as a report names it: `75 minutes`, `5 hours`, `90 seconds`.
pub(super) fn in_words(span: Span) -> String {
    const UNITS: [(u64, &str); 3] = [(3_600_000, "hour"), (60_000, "minute"), (1_000, "second")];
    let ms = span.as_ms();
    let unit = UNITS.into_iter().find(|(unit, _)| ms >= *unit && ms.is_multiple_of(*unit));
    unit.map_or_else(|| span.to_string(), |(unit, name)| rehang_words::text::counted(ms / unit, name))
}
