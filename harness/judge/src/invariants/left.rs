//! Invariant 8: Nothing is left, apart from what the scenario declares as `survives`: no process, descriptor, socket, file.
//!
//! Invariant: what a hang holds is the hang, not left behind; a server is shut down behind
//! its run, so one that is still there is left. A survivor is named by its role or its program, and its descendants survive with it.

use super::Breach;
use crate::index::View;
use rehang_scenario::model::Invariant;

/// Checks it.
pub fn check(view: &View<'_>) -> Vec<Breach> {
    if view.verdict.outcome.is_hung() {
        return Vec::new();
    }
    let left = view.index.left.iter().filter(|(who, ..)| !survives(view, who));
    let breach = |&(who, at, what): &(&str, _, &str)| {
        let name = view.index.processes.get(who).map_or("", |process| program(process.argv));
        let name = if name.is_empty() { String::new() } else { format!(" ({name})") };
        Breach::new(Invariant::LeftBehind, at, format!("{who}{name} is left behind: {what}"))
    };
    left.map(breach).collect()
}

fn survives(view: &View<'_>, who: &str) -> bool {
    view.facts.survives.iter().any(|survivor| {
        let descends = |role: &str| {
            role.strip_prefix(survivor.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        let by_name = |role: &str| {
            view.index
                .processes
                .get(role)
                .is_some_and(|process| process.argv.iter().any(|arg| basename(arg) == survivor))
        };
        let ancestors = who.match_indices('.').map(|(at, _)| &who[..at]).chain([who]);
        descends(who) || ancestors.into_iter().any(by_name)
    })
}

fn program(argv: &[String]) -> &str {
    argv.first().map_or("", |arg| basename(arg))
}

fn basename(arg: &str) -> &str {
    arg.rsplit('/').next().unwrap_or(arg)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::*;
    use crate::trace::What;
    use expect_test::{Expect, expect};

    fn left(survives: &[&str], cell: Cell, want: Expect) {
        let mut facts = facts("none");
        facts.survives = survives.iter().map(|s| (*s).to_owned()).collect();
        want.assert_eq(&said(check, cell, &facts));
    }

    fn leaves(role: &str, what: &str) -> Cell {
        let argv = vec!["bin/fake-tool".into(), "dev-server".into()];
        let child = What::Spawn { parent: "agent.1".into(), argv };
        let cell = Cell::new().started().add("agent.1.1", child).at(10).step("", "stop").done("ok");
        cell.add(role, What::Left { what: what.into() })
    }

    #[test]
    fn a_grandchild_that_leaks_is_named() {
        left(
            &[],
            leaves("agent.1.1", "process"),
            expect![[r#"
            10ms left-behind: agent.1.1 (fake-tool) is left behind: process
        "#]],
        );
        left(
            &["agent.1.2", "agent.1.10", "dev"],
            leaves("agent.1.1", "process"),
            expect![[r#"
            10ms left-behind: agent.1.1 (fake-tool) is left behind: process
        "#]],
        );
    }

    #[test]
    fn what_survives_on_purpose_is_no_breach() {
        for survivor in ["agent.1.1", "agent.1", "dev-server", "fake-tool"] {
            left(&[survivor], leaves("agent.1.1", "process"), expect![""]);
        }
        left(&["dev-server"], leaves("agent.1.1.4", "process"), expect![""]);
    }

    #[test]
    fn a_hang_holds_what_it_holds() {
        let hung = Cell::new().started().deadlock(&[("agent", "bash")]);
        left(&[], hung.add("agent", What::Left { what: "process".into() }), expect![""]);
    }
}
