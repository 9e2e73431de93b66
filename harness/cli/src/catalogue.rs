//! What the scenario format must know of strategies, answered by the strategies' catalogue.
//!
//! Invariant: the matrix of an agent is the strategy crate's; nothing is added here.

use rehang_scenario::Agent;
use rehang_scenario::cells::{Catalogue, Named, Unknown};
use rehang_strategy as strategy;

/// The strategies of this build.
#[derive(Debug, Clone, Copy, Default)]
pub struct Strategies;

impl Catalogue for Strategies {
    fn resolve(&self, pattern: &str) -> Result<Named, Unknown> {
        match strategy::stack(pattern) {
            Ok(_) => Ok(Named::Stack),
            Err(_) if strategy::spec::check_pattern(pattern).is_ok() => Ok(Named::Family),
            Err(error) => Err(Unknown { message: error.to_string(), suggestion: None }),
        }
    }

    fn stacks(&self, agent: &Agent) -> Vec<String> {
        strategy::matrix(agent)
    }

    fn fits(&self, stack: &str, agent: &Agent) -> Result<(), String> {
        let stack = strategy::stack(stack).map_err(|e| e.to_string())?;
        stack.seat_in(agent).map(drop)
    }

    fn matches(&self, pattern: &str, stack: &str) -> bool {
        strategy::spec::covers(pattern, stack)
    }
}
