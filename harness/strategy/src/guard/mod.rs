//! Ours: the stack that harms nothing and misses the fewest hangs.
//!
//! It sits outside. It looks at the agent's processes as `rehang why` does, and ends a state that no healthy run
//! stays in, each finding after its own limit ([`standing`]): first the [part](parts) below the agent that hangs, so that
//! the agent goes on by its own error path, and the run only if that changes nothing; a run that is over is taken as over (a result is there
//! and the process lingers, another process holds a pipe, the server is idle and the event was lost); stdin that nobody
//! writes to is closed. An ask is never answered and never refused: the run is stopped, and the report says why. Whoever builds the agent can add the part [inside](asks): a question that nobody can be
//! asked is then not asked, and the run goes on.
//!
//! Invariant: silence alone never ends anything before [`QUIET`], and not before [`AT_WORK`] while something in sight may
//! be at work: builds, slow models and people are silent for long.

mod asks;
pub mod parts;
mod process;
mod said;
mod server;
pub mod standing;
pub mod times;

use crate::entry::Named;
use crate::{Entry, Seat, Wire};
use rehang_words::{Policy, Span};

/// The longest silence while nothing in sight is at work: above the longest healthy one on record (a build of 70 minutes,
/// alphaone/ai-memory-mcp#3888) and above what a person has to answer.
pub const QUIET: Span = Span::mins(75);
/// The longest silence while something in sight may be at work. Nothing healthy on record was silent for that long: it is
/// above the three hours of `benign/slow-thinking` and the four of `little-loops/four-hours`.
pub const AT_WORK: Span = Span::hours(5);

/// The named stacks of this family.
pub const STACKS: &[Named] = &[
    Named {
        name: "guard",
        members: "guard-process+guard-server",
        summary: "ends by evidence what cannot go on, takes as over what is over, and never speaks for a person",
    },
    Named {
        name: "guard-inside",
        members: "guard-asks+guard-process+guard-server",
        summary: "guard, and in the agent itself (it needs its source): what nobody can be asked is not asked",
    },
];

/// The parts; they play only in the stack.
pub const ENTRIES: &[Entry] = &[
    Entry {
        name: "guard-asks",
        seat: Seat::Inside,
        origin: "rehang's own, a part of guard-inside",
        summary: "in a one-shot run, tells the model that nobody can be asked, in place of an ask that nobody could answer",
        speaks: &[Wire::InRun],
        params: &[],
        build: |_| Box::new(asks::Asks::default()),
    },
    Entry {
        name: "guard-process",
        seat: Seat::Outside,
        origin: "rehang's own, a part of guard",
        summary: "looks at the processes while nothing new is said; ends what waits for nobody, what lingers after its result, what says nothing new for 75 minutes (5 hours, if something may be at work)",
        speaks: &[Wire::Process],
        params: times::PARAMS,
        build: |params| Box::new(process::Process::with(times::Times::of(params))),
    },
    Entry {
        name: "guard-server",
        seat: Seat::Outside,
        origin: "rehang's own, a part of guard",
        summary: "asks the server every 30 s what is busy and what was said last, and looks at its processes: takes a finished turn as finished, ends a stuck one",
        speaks: &[Wire::OpencodeHttp],
        params: times::PARAMS,
        build: |params| Box::new(server::Server::with(times::Times::of(params))),
    },
];

/// A report with this family's name.
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
