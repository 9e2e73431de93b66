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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agents;

    #[test]
    fn a_pattern_names_a_stack_a_family_or_nothing() {
        let named = |pattern: &str| Sample.resolve(pattern);
        for stack in ["none", "watcher@pr3", "idle@f54b32f(timeout=1s)", "none+watcher@pr5", "none+idle@f54b32f(a=1)"] {
            assert_eq!(named(stack), Ok(Named::Stack), "{stack}");
        }
        for family in ["watcher", "idle", "auto-answer"] {
            assert_eq!(named(family), Ok(Named::Family), "{family}");
        }
        let unknown = |pattern: &str| named(pattern).map_err(|unknown| (unknown.message, unknown.label));
        for (pattern, part) in
            [("xyzzy", "xyzzy"), ("none+xyzzy", "xyzzy"), ("none+watcher", "watcher"), ("watcher(a=1)", "watcher")]
        {
            let error = unknown(pattern).expect_err(pattern);
            assert_eq!(error.0, format!("unknown strategy `{part}`"));
            assert_eq!(error.1.is_some(), part == "watcher", "{pattern}");
        }
    }

    #[test]
    fn a_stack_fits_an_agent_that_speaks_its_wire() {
        let stacks = |kind: &agents::AgentKind| Sample.stacks(&kind.default_agent()).join(" ");
        let server = "none idle@f54b32f auto-answer@r1 auto-answer@r2 watcher@pr3 watcher@pr5 blind-timeout";
        assert_eq!(stacks(&agents::OPENCODE), server);
        assert_eq!(stacks(&agents::CLAUDE), "none idle@f54b32f auto-approve@v1");
        assert_eq!(stacks(&agents::PROGRAM), "none idle@f54b32f");
        let fits = |stack: &str| Sample.fits(stack, &agents::PROGRAM.default_agent()).map_err(|why| why.to_string());
        assert_eq!(fits("none+watcher"), Err("it needs an opencode server".to_owned()));
        assert_eq!(fits("auto-approve(a=1)"), Err("it speaks Claude Code's stream-json only".to_owned()));
        let matches = |pattern: &str, stack: &str| Sample.matches(pattern, stack);
        assert!(matches("watcher", "watcher@pr3") && matches("none", "none") && matches("watcher@pr3", "watcher@pr3"));
        assert!(!matches("watcher@pr5", "watcher@pr3") && !matches("pr3", "watcher@pr3") && !matches("idle", "none"));
    }
}
