//! What the judge knows of a cell beside its trace.
//!
//! Invariant: it comes from the scenario file and from the strategies' own constants, never from a run.

use rehang_scenario::{Order, Span, Stage, Terminal};
use rehang_trace::ndjson::{self, Header};
use std::collections::BTreeMap;

/// What a scenario file and its strategies say of a cell.
#[derive(Debug, Clone, PartialEq)]
pub struct CellFacts {
    /// The scenario's name: `question/row-diff`, with its variant if it has one.
    pub scenario: String,
    /// The mechanism in the hang catalogue, or the benign look-alike (`F1`).
    pub mechanism: String,
    /// The stack, as written: `auto-answer@r3+watcher@pr5`, `none`.
    pub strategy: String,
    /// How the agent's standard streams are connected.
    pub terminal: Terminal,
    /// The stage on which it runs.
    pub stage: Stage,
    /// The seed of the run, with its choices at ties.
    pub order: Order,
    /// Whether it is the control arm: the one change under which it does not hang.
    pub control: bool,
    /// Whether a member of the stack sits inside the agent: then it cannot be deployed without the agent's source.
    pub inside: bool,
    /// Whether the agent is a server: it lives on after a result, and that is no hang.
    pub server: bool,
    /// Whether a person of the scenario could and would answer in a way that this terminal has.
    pub answerer: bool,
    /// Roles or programs that may be left on purpose.
    pub survives: Vec<String>,
    /// The latest end of a run that the strategies' own constants allow, from the run's start; `None` if they bound no
    /// run.
    pub bound: Option<Span>,
    /// The latest end of all runs of the caller's loop, from the cell's start; `None` if nothing bounds it.
    pub bound_of_runs: Option<Span>,
    /// By strategy (`idle@f54b32f`), the constants that it really runs with, in the units of their names.
    pub effective: BTreeMap<String, BTreeMap<String, u64>>,
}

impl CellFacts {
    /// Facts of a cell with no special properties.
    pub fn new(scenario: &str, strategy: &str, terminal: Terminal) -> CellFacts {
        CellFacts {
            scenario: scenario.to_owned(),
            mechanism: String::new(),
            strategy: strategy.to_owned(),
            terminal,
            stage: Stage::Sim,
            order: Order::from(1),
            control: false,
            inside: false,
            server: false,
            answerer: false,
            survives: Vec::new(),
            bound: None,
            bound_of_runs: None,
            effective: BTreeMap::new(),
        }
    }

    /// The header of this cell's trace.
    pub fn header(&self) -> Header {
        Header {
            rehang_trace: ndjson::VERSION,
            scenario: self.scenario.clone(),
            strategy: self.strategy.clone(),
            terminal: self.terminal.name().to_owned(),
            stage: self.stage.name().to_owned(),
            seed: self.order.seed,
            order: (!self.order.is_plain()).then(|| self.order.clone()),
            control: self.control,
        }
    }

    /// The constants that a strategy really runs with; its name may carry parameters in brackets.
    pub fn effective_of(&self, strategy: &str) -> Option<&BTreeMap<String, u64>> {
        let exact = self.effective.get(strategy);
        exact.or_else(|| self.effective.iter().find(|(name, _)| same_strategy(name, strategy)).map(|(_, of)| of))
    }
}

/// Whether two names mean the same strategy in the same version, without regard to the parameters in brackets.
pub fn same_strategy(a: &str, b: &str) -> bool {
    base(a) == base(b)
}

fn base(name: &str) -> &str {
    name.split('(').next().unwrap_or(name).trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_do_not_make_another_strategy() {
        assert!(same_strategy("auto-answer@r1(at=tool)", "auto-answer@r1"));
        assert!(!same_strategy("auto-answer@r1", "auto-answer@r2"));
    }
}
