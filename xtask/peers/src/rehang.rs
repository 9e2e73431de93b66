//! The work as rehang plays it: the fake server asks its question, a strategy asks it every five seconds, and all of it
//! is HTTP in bytes.

use rehang_os::sim::SimKernel;
use rehang_scenario::{Scenario, Terminal};
use rehang_stage::{Job, Proofs};
use rehang_trace::ndjson;

const FILE: &str = r#"
title = "A question in a server, and a watcher that polls"
mechanism = "Q1"
agent = { opencode = { as = "1.2.15", mode = "serve" } }
turns = [{ ask = [{ question = "Which?", options = [{ label = "A" }, { label = "B" }] }] }]
terminals = ["null"]
expect = [{ outcome = { hung = "question" } }]
"#;

/// The cell.
pub struct Cell(Scenario);

impl Cell {
    /// The cell, read from its file.
    pub fn new() -> Cell {
        let family = rehang_scenario::load("peers.toml", FILE.as_bytes()).into_result();
        let family = family.unwrap_or_else(|problems| panic!("{problems}"));
        Cell(family.variants.into_iter().next().expect("a scenario").scenario)
    }

    /// Plays it; returns how many events its trace has.
    pub fn play(&self, with_hash: bool) -> usize {
        let job = Job { proofs: Proofs::Claimed, ..Job::new(&self.0, "watcher@pr3", Terminal::Null, 1) };
        let record = rehang_stage::run(&mut SimKernel::new(rehang_fakes::program), &job);
        let trace = record.unwrap_or_else(|error| panic!("{error}")).trace;
        if with_hash {
            assert_eq!(ndjson::sha256(&trace).len(), 64);
        }
        trace.events.len()
    }
}
