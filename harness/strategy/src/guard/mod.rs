//! Ours: the stack that harms nothing and misses fewest.
//!
//! It sits in both seats. Inside, asks that nobody ends are refused by policy, soon in a one-shot run, which has no way
//! to take an answer, and late where somebody may be on their way. Outside, what is over is taken as over (a result is
//! there and the process lingers, a pipe is held by somebody else, the server is idle and the event was lost), stdin
//! that nobody writes to is closed, and what moves nothing for hours is ended, with its group.
//!
//! Invariant: silence alone never ends anything before [`QUIET`]: builds, slow models and people are silent for long.
//! What is ended sooner is ended by a state that no healthy run stays in.

mod asks;
mod process;
mod server;
pub mod standing;

use crate::entry::{Named, Value};
use crate::{Entry, Param, Seat, Wire};
use rehang_scenario::{Policy, Span};

/// The longest silence that is taken for work: above the longest healthy one on record (a build of 70 minutes,
/// alphaone/ai-memory-mcp#3888) and above what a person has to answer.
pub const QUIET: Span = Span::hours(5);

/// The stacks.
pub const STACKS: &[Named] = &[Named {
    name: "guard",
    members: "guard-asks+pending-ask(after=245m, every=5m)+guard-process+guard-server",
    summary: "refuses what nobody answers, takes as over what is over, and ends what moves nothing for hours",
}];

/// The parts; they play in the stack only.
pub const ENTRIES: &[Entry] = &[
    Entry {
        name: "guard-asks",
        seat: Seat::Inside,
        origin: "rehang's own, a part of guard",
        summary: "refuses asks that nobody ended: after 20 minutes in a one-shot run, else after 4 hours",
        speaks: &[Wire::InOpencode, Wire::InClaude],
        params: &[
            Param {
                name: "run",
                default: Value::Span(Span::mins(20)),
                doc: "how long an ask of a one-shot run may wait",
            },
            Param { name: "patience", default: Value::Span(Span::hours(4)), doc: "how long any other ask may wait" },
        ],
        build: |params| Box::new(asks::Asks::new(params.span("run"), params.span("patience"))),
    },
    Entry {
        name: "guard-process",
        seat: Seat::Outside,
        origin: "rehang's own, a part of guard",
        summary: "closes a stdin that nobody writes to; ends what lingers behind its result or says nothing new for 5 hours",
        speaks: &[Wire::Process],
        params: &[],
        build: |_| Box::<process::Process>::default(),
    },
    Entry {
        name: "guard-server",
        seat: Seat::Outside,
        origin: "rehang's own, a part of guard",
        summary: "asks the server every 30 s what is busy and what was said last: takes a finished turn as finished, ends a stuck one",
        speaks: &[Wire::OpencodeHttp],
        params: &[],
        build: |_| Box::<server::Server>::default(),
    },
];

/// A report in the words of this family.
fn report(cause: &str, rule: &str, text: &str, limit: (&str, Span)) -> Policy {
    Policy {
        detected: Some(cause.to_owned()),
        rule: Some(rule.to_owned()),
        cause: Some(cause.to_owned()),
        text: Some(text.to_owned()),
        constants: [(limit.0.to_owned(), limit.1.as_ms())].into(),
        ..Policy::default()
    }
}

#[cfg(test)]
mod tests;
