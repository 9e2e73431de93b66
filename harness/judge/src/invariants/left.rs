//! Invariant 8: Nothing is left, apart from what the scenario declares as `survives`: no process, descriptor, socket, file.
//!
//! Invariant: what a hung run holds is part of the hang, not left behind, and the same applies to an undecided run; a
//! server is shut down after its run, so one that is still there is left. A survivor is named by its role or its
//! program, and its descendants survive with it.
//!
//! What is left is what the stage says of it ([`What::Left`](rehang_trace::What::Left)): who holds it, and
//!
//! | text | what | a breach |
//! |---|---|---|
//! | `process NAME` | the holder itself lives | unless it survives; what it holds is told with it |
//! | `listener` | it listens on a port | unless it survives; of a survivor too if it is stopped or has ended, since nobody accepts there |
//! | `pipe stdout`, `pipe stderr`, `terminal` | it can write what the caller of the agent reads | unless it survives: no strategy can take from it what it was started with |
//! | `connection` | its connection to somebody outside is open | unless it survives |
//! | `file PATH` | it has written a file | unless it survives |
//!
//! A request that a strategy still waits for at the end does not count: the connection ends with the server that is
//! shut down.

use crate::index::At;
use crate::verdict::Breach;
use crate::view::View;
use rehang_scenario::Invariant;

/// Checks the invariant on a cell.
pub fn check(view: &View<'_>) -> Vec<Breach> {
    if view.verdict.outcome.is_hung() || view.verdict.outcome.is_undecided() {
        return Vec::new();
    }
    let breach = |&(who, at, what): &(&str, At, &str)| {
        Some(Breach::new(Invariant::LeftBehind, at, why(view, who, Kind::of(what), what)?))
    };
    view.index.left.iter().filter_map(breach).collect()
}

/// The kind of what is left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A process that is alive.
    Process,
    /// A socket that a process listens on.
    Listener,
    /// Anything else that a process holds.
    Other,
}

impl Kind {
    fn of(what: &str) -> Kind {
        match what.split_once(' ').unwrap_or((what, "")) {
            ("process", _) => Kind::Process,
            ("listener", _) => Kind::Listener,
            _ => Kind::Other,
        }
    }
}

/// Why it is a breach that this is left; `None` if it is not a breach.
fn why(view: &View<'_>, who: &str, kind: Kind, what: &str) -> Option<String> {
    let survives = survives(view, who);
    let process = view.index.processes.get(who);
    let name = process.map_or("", |process| program(process.argv));
    let name = if name.is_empty() { String::new() } else { format!(" ({name})") };
    if kind == Kind::Process {
        return (!survives).then(|| format!("{who}{name} is left behind: {what}"));
    }
    let is_process = |&(other, _, what): &(&str, At, &str)| other == who && Kind::of(what) == Kind::Process;
    if !survives && view.index.left.iter().any(is_process) {
        return None;
    }
    match kind {
        Kind::Listener if process.is_some_and(|process| process.stopped.is_some() || process.ended.is_some()) => {
            Some(format!("{who}{name} is left behind: {what}, where nobody accepts"))
        }
        _ => (!survives).then(|| format!("{who}{name} is left behind: {what}")),
    }
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
    use expect_test::{Expect, expect};
    use rehang_trace::What;

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
        let given_up = Cell::new().started().add(
            "",
            What::Ended(rehang_trace::Ended::Horizon { reason: rehang_trace::Horizon::Steps, waits: Vec::new() }),
        );
        left(&[], given_up.add("agent", What::Left { what: "process".into() }), expect![""]);
    }

    /// What a process leaves, besides itself.
    fn holds(what: &str) -> Cell {
        leaves("agent.1.1", "process dev-server").add("agent.1.1", What::Left { what: what.into() })
    }

    #[test]
    fn what_a_process_holds_is_told_with_it() {
        for what in ["pipe stdout", "terminal", "listener", "connection", "file x"] {
            left(
                &[],
                holds(what),
                expect![[r#"
                    10ms left-behind: agent.1.1 (fake-tool) is left behind: process dev-server
                "#]],
            );
        }
    }

    #[test]
    fn a_survivor_has_what_it_was_started_with() {
        for what in ["pipe stdout", "terminal", "listener", "connection", "file x"] {
            left(&["dev-server"], holds(what), expect![""]);
        }
    }

    #[test]
    fn a_listener_where_nobody_accepts_is_told_of_a_survivor_too() {
        let stopped = |cell: Cell| cell.add("agent.1.1", What::Stopped("STOP".into()));
        left(
            &["dev-server"],
            stopped(holds("listener")),
            expect![[r#"
                10ms left-behind: agent.1.1 (fake-tool) is left behind: listener, where nobody accepts
            "#]],
        );
        left(&["dev-server"], stopped(holds("listener")).add("agent.1.1", What::Continued), expect![""]);
        let gone = leaves("agent.1.1", "listener").exit("agent.1.1", 0);
        left(
            &["dev-server"],
            gone,
            expect![[r#"
                10ms left-behind: agent.1.1 (fake-tool) is left behind: listener, where nobody accepts
            "#]],
        );
    }

    #[test]
    fn what_is_left_without_its_process_is_told_by_itself() {
        left(
            &[],
            leaves("agent.1.1", "file x").exit("agent.1.1", 0),
            expect![[r#"
                10ms left-behind: agent.1.1 (fake-tool) is left behind: file x
            "#]],
        );
    }
}
