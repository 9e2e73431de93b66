//! Invariant 2: Every ask has exactly one end, or is pending in a session that is busy; nothing is listed after its end.
//!
//! Invariant: an ask dies with its process if that is ended by a signal or fails; a process that exits with 0 over an
//! open ask has told no one what became of it. Real opencode keeps the asks of an aborted session listed (recorded for
//! 1.2.15 and 1.18.33): that is a breach, which the scenario then expects. A list counts as late if it was requested
//! after the end, so a response in flight is not a breach.

use crate::crosscheck::listed_ids;
use crate::index::{Ask, At};
use crate::verdict::Breach;
use crate::view::View;
use rehang_scenario::Invariant;

/// Checks the invariant on a cell.
pub fn check(view: &View<'_>) -> Vec<Breach> {
    let last = view.trace.events.last().map_or(rehang_scenario::VTime::ZERO, |event| event.t);
    let end = At { place: view.trace.events.len(), t: last };
    let breach = |at, why| Breach::new(Invariant::AskWithoutEnd, at, why);
    let mut breaches = Vec::new();
    for ask in &view.index.asks {
        if let Some(second) = ask.ends.get(1) {
            let by = (ask.ends[0].by, second.by);
            breaches.push(breach(
                second.at,
                format!("`{}` of {} ends twice, first by {}, then by {}", ask.id, ask.who, by.0, by.1),
            ));
        }
        if ask.ends.is_empty() {
            match ask.died {
                Some(at) if exits_in_peace(view, ask.who, at) => {
                    breaches.push(breach(at, format!("{} exits with 0 while `{}` is open", ask.who, ask.id)));
                }
                Some(_) => {}
                None if view.index.busy(ask.who, ask.session, end.t) == Some(false) => {
                    let why = format!(
                        "`{}` of {} is open at the end, and its session {} is idle",
                        ask.id, ask.who, ask.session
                    );
                    breaches.push(breach(end, why));
                }
                None => {}
            }
        }
    }
    breaches.extend(listed(view));
    breaches
}

/// Whether a process exits with 0 without having been told to end.
fn exits_in_peace(view: &View<'_>, who: &str, at: At) -> bool {
    let exits = view.index.processes.get(who).is_some_and(|p| p.ended == Some((at, None)) && p.code == Some(0));
    let told = |act: &crate::index::Act<'_>| act.at < at && matches!(act.what, crate::index::Did::Signal(..));
    exits && !view.index.acts.iter().any(told)
}

fn listed(view: &View<'_>) -> Vec<Breach> {
    let mut breaches: Vec<(&str, Breach)> = Vec::new();
    for request in view.index.requests.iter() {
        let Some((at, 200, body)) = request.response else { continue };
        for id in listed_ids(request, body) {
            let over = |ask: &&Ask<'_>| ask.id == id && ask.ends.first().is_some_and(|end| end.at < request.at);
            let again = |ask: &Ask<'_>| ask.id == id && ask.ends.is_empty();
            let Some(ask) = view.index.asks.iter().find(over) else { continue };
            if view.index.asks.iter().any(again) || breaches.iter().any(|(known, _)| *known == id) {
                continue;
            }
            let ended = ask.ends[0].at.t;
            let why = format!(
                "{} finds `{id}` listed in {}, though it ended at {ended} by {}",
                request.who, request.path, ask.ends[0].by
            );
            breaches.push((id, Breach::new(Invariant::AskWithoutEnd, at, why)));
        }
    }
    breaches.into_iter().map(|(_, breach)| breach).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::*;
    use expect_test::{Expect, expect};
    use rehang_trace::{AskEnd, Cause};
    use serde_json::json;

    fn says(cell: Cell, want: Expect) {
        want.assert_eq(&said(check, cell, &facts("x")));
    }

    fn asked() -> Cell {
        Cell::new().started().ask("que_1", "ses_1").at(5_000)
    }

    fn dropped(cell: Cell) -> Cell {
        cell.end("que_1", AskEnd::Dropped, Cause::Stop, "user", &[])
    }

    #[test]
    fn pending_in_a_busy_session_is_no_breach() {
        says(asked().deadlock(&[]), expect![""]);
        says(
            asked().busy("ses_1", false).deadlock(&[]),
            expect![[r#"
            5s ask-without-end: `que_1` of agent is open at the end, and its session ses_1 is idle
        "#]],
        );
        says(dropped(asked()).busy("ses_1", false).deadlock(&[]), expect![""]);
    }

    #[test]
    fn one_end_is_enough() {
        says(
            dropped(asked()).at(5_001).end("que_1", AskEnd::Replied, Cause::Answer, "pending-ask", &["A"]),
            expect![[r#"
                5001ms ask-without-end: `que_1` of agent ends twice, first by user, then by pending-ask
            "#]],
        );
        // The same id asked again after its end is a new ask.
        says(dropped(dropped(asked()).ask("que_1", "ses_1")), expect![""]);
    }

    #[test]
    fn an_ask_dies_with_its_process() {
        says(asked().killed("agent", "KILL"), expect![""]);
        says(asked().exit("agent", 143), expect![""]);
        says(asked().signal("client", "TERM", "agent").exit("agent", 0), expect![""]);
        says(
            asked().exit("agent", 0),
            expect![[r#"
            5s ask-without-end: agent exits with 0 while `que_1` is open
        "#]],
        );
    }

    #[test]
    fn nothing_is_listed_after_its_end() {
        let list = |cell: Cell, id: u32| cell.request("person1", id, "GET", "/question");
        let found = |cell: Cell, id: u32| cell.respond("person1", id, 200, json!([{"id": "que_1"}]));
        says(
            found(list(dropped(asked()), 1).at(5_002), 1),
            expect![[r#"
                5002ms ask-without-end: person1 finds `que_1` listed in /question, though it ended at 5s by user
            "#]],
        );
        // It is reported only once.
        says(
            found(list(found(list(dropped(asked()), 1), 1), 2), 2),
            expect![[r#"
            5s ask-without-end: person1 finds `que_1` listed in /question, though it ended at 5s by user
        "#]],
        );
        // The list was in flight when the ask ended.
        says(found(dropped(list(asked(), 1)), 1), expect![""]);
        says(list(dropped(asked()), 1).respond("person1", 1, 200, json!([])), expect![""]);
    }
}
