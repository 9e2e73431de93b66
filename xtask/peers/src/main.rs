//! The same work on rehang's simulation and on its peers: cells a second on one core.
//!
//! The work: fifteen virtual minutes in which a client asks a server every five seconds. 180 requests, 180 answers, a start,
//! a question and an end are 363 events, and each is written as a line of JSON. Invariant: every row writes all of them, by
//! what it is itself: its clock, its queue, its tasks; a row whose number of events is another says so and is scaled.

mod rehang;
mod tasks;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt::Write;
use std::time::Duration;

/// The polls of a cell.
const POLLS: u32 = 180;
/// Between two of them.
const PERIOD: Duration = Duration::from_secs(5);
/// The events of a cell.
const EVENTS: usize = 363;
/// How long each row is measured, in processor time.
const MEASURED: Duration = Duration::from_secs(2);

/// The trace of a cell.
#[derive(Default)]
pub struct Log {
    lines: String,
    events: usize,
}

impl Log {
    /// Writes an event as a line of JSON.
    pub fn event(&mut self, at: Duration, who: &str, what: &str, text: &str) {
        self.events += 1;
        let written =
            writeln!(self.lines, r#"{{"t":{},"who":"{who}","what":"{what}","text":"{text}"}}"#, at.as_millis());
        assert!(written.is_ok(), "a string takes all");
    }

    /// How many events there are.
    pub fn events(&self) -> usize {
        assert!(self.lines.len() > self.events, "each has a line");
        self.events
    }
}

/// What may happen next in the bare queue.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Next {
    Asks(u32),
    Answers(u32),
    Ends,
}

/// A queue of events and nothing else: the least that such a cell can cost.
fn bare_queue() -> usize {
    let mut log = Log::default();
    let mut queue = BinaryHeap::new();
    log.event(Duration::ZERO, "server", "spawned", "serve");
    log.event(Duration::ZERO, "server", "asked", "Which database?");
    let mut order = 0;
    let mut push = |queue: &mut BinaryHeap<_>, at: Duration, next| {
        order += 1;
        queue.push(Reverse((at, order, next)));
    };
    push(&mut queue, PERIOD, Next::Asks(1));
    while let Some(Reverse((at, _, next))) = queue.pop() {
        match next {
            Next::Asks(nth) => {
                log.event(at, "client", "request", REQUEST);
                push(&mut queue, at, Next::Answers(nth));
            }
            Next::Answers(nth) => {
                log.event(at, "server", "response", RESPONSE);
                match nth < POLLS {
                    true => push(&mut queue, at + PERIOD, Next::Asks(nth + 1)),
                    false => push(&mut queue, at, Next::Ends),
                }
            }
            Next::Ends => log.event(at, "client", "ended", ""),
        }
    }
    log.events()
}

/// What is asked.
pub const REQUEST: &str = "GET /session/ses_1/message?limit=1";
/// What is answered.
pub const RESPONSE: &str =
    "200 [{info: {id: msg_1, role: assistant}, parts: [{type: tool, tool: question, state: running}]}]";

/// Plays cells until the time is up, and prints how many a second.
fn row(what: &str, mut cell: impl FnMut() -> usize) {
    let events = cell();
    let began = rehang_stage::bare::cpu_time();
    let mut cells = 0_u32;
    while rehang_stage::bare::cpu_time() - began < MEASURED {
        assert_eq!(cell(), events, "{what}: each cell is the same");
        cells += 1;
    }
    let rate = f64::from(cells) / (rehang_stage::bare::cpu_time() - began).as_secs_f64();
    let scaled = rate * events as f64 / EVENTS as f64;
    let note = if events == EVENTS { String::new() } else { format!("  ({rate:.0} cells/s of {events} events)") };
    println!("{what:<44} {scaled:>9.0}/s{note}");
}

fn main() {
    println!("{:<44} {:>11}", format!("cells of {EVENTS} events, one core"), "rate");
    row("a bare queue of events, with NDJSON", bare_queue);
    row("tokio, paused, with NDJSON", tasks::on_tokio);
    row("madsim, with NDJSON", tasks::on_madsim);
    let cell = rehang::Cell::new();
    row("rehang's simulation, its trace with no hash", || cell.play(false));
    row("rehang's simulation, its trace with its hash", || cell.play(true));
}
