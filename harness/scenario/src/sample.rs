//! A small catalogue of strategies, for this crate's own tests and its fuzzer: it knows names, not behaviour.
//!
//! Invariant: only tests and fuzzing check a file against it.

use crate::agents::Wire;
use crate::cells::{Catalogue, DoesNotFit, Named, Unknown};
use crate::model::Agent;
use crate::problem::shown;
use crate::text::{did_you_mean, suggest};

/// The small catalogue.
#[derive(Debug, Clone, Copy, Default)]
pub struct Sample;

const ALL: [&str; 8] = [
    "none",
    "idle@f54b32f",
    "auto-answer@r1",
    "auto-answer@r2",
    "auto-approve@v1",
    "watcher@pr3",
    "watcher@pr5",
    "blind-timeout",
];

fn bare(part: &str) -> &str {
    part.split_once('(').map_or(part, |(name, _)| name)
}

impl Catalogue for Sample {
    fn resolve(&self, pattern: &str) -> Result<Named, Unknown> {
        let mut named = Named::Stack;
        for part in pattern.split('+').map(bare) {
            if ALL.contains(&part) {
                continue;
            }
            if pattern == part && ALL.iter().any(|name| name.split_once('@').is_some_and(|(name, _)| name == part)) {
                named = Named::Family;
                continue;
            }
            let label = suggest(part, ALL).map(did_you_mean);
            return Err(Unknown { message: format!("unknown strategy `{}`", shown(part)), label });
        }
        Ok(named)
    }

    fn stacks(&self, agent: &Agent) -> Vec<String> {
        ALL.iter().filter(|name| self.fits(name, agent).is_ok()).map(|&name| name.to_owned()).collect()
    }

    fn fits(&self, stack: &str, agent: &Agent) -> Result<(), DoesNotFit> {
        let claude = agent.wires().contains(&Wire::InClaude);
        let server = agent.kind().has_server;
        for part in stack.split('+').map(bare) {
            match part.split('@').next() {
                Some("auto-approve") if !claude => {
                    return Err(DoesNotFit::new("it speaks Claude Code's stream-json only"));
                }
                Some("watcher" | "auto-answer" | "blind-timeout") if !server => {
                    return Err(DoesNotFit::new("it needs an opencode server"));
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn matches(&self, pattern: &str, stack: &str) -> bool {
        pattern == stack || stack.split_once('@').is_some_and(|(name, _)| name == pattern)
    }
}
