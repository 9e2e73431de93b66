//! What the scenario format must know of strategies, answered by the strategies' catalogue.
//!
//! Invariant: the matrix of an agent is the strategy crate's; only what a user names is added.

use rehang_scenario::Agent;
use rehang_scenario::cells::{Catalogue, Named, Unknown};
use rehang_strategy as strategy;

/// The strategies of this build.
#[derive(Debug, Clone, Default)]
pub struct Strategies {
    /// Stacks that a user names beside the matrix: `idle@f54b32f(timeout=10m)`, `a+b`.
    pub named: Vec<String>,
}

impl Catalogue for Strategies {
    fn resolve(&self, pattern: &str) -> Result<Named, Unknown> {
        match strategy::stack(pattern) {
            Ok(_) => Ok(Named::Stack),
            Err(_) if strategy::spec::check_pattern(pattern).is_ok() => Ok(Named::Family),
            Err(error) => Err(Unknown { message: error.to_string(), suggestion: None }),
        }
    }

    fn stacks(&self, agent: &Agent) -> Vec<String> {
        let mut stacks = strategy::matrix(agent);
        for name in self.named.iter().filter(|name| strategy::stack(name).is_ok() && self.fits(name, agent).is_ok()) {
            // `auto-answer@r1` means the placements that are there already
            if !stacks.iter().any(|stack| strategy::spec::covers(name, stack)) {
                stacks.push(name.clone());
            }
        }
        stacks
    }

    fn fits(&self, stack: &str, agent: &Agent) -> Result<(), String> {
        let stack = strategy::stack(stack).map_err(|e| e.to_string())?;
        stack.seat_in(agent).map(drop)
    }

    fn matches(&self, pattern: &str, stack: &str) -> bool {
        strategy::spec::covers(pattern, stack)
    }
}
