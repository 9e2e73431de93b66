//! Which stacks play with an agent.
//!
//! Invariant: each strategy that fits plays alone, unless it is a part of a named stack: parts play only there.

use crate::catalogue::{entries, fits, named};
use crate::entry::{Entry, Value, Wire};

/// The stacks of the matrix of an agent that can be reached in these ways, `none` first: each strategy that fits, alone and in each of its
/// placements ([`VARIED`]), and the named stacks of which a member fits. The parts of a named stack play only there.
pub fn matrix(wires: &[Wire]) -> Vec<String> {
    let single = alone().filter(|entry| fits(entry, wires).is_ok()).flat_map(placements);
    let stacks = named().iter().filter(|stack| crate::stack::stack(stack.name).is_ok_and(|s| s.seat_in(wires).is_ok()));
    single.chain(stacks.map(|stack| stack.name.to_owned())).collect()
}

/// The stacks of any agent's matrix, `none` first.
pub fn stacks() -> Vec<String> {
    alone().flat_map(placements).chain(named().iter().map(|stack| stack.name.to_owned())).collect()
}

/// The stacks that can be used alone; the parts of a named stack cannot.
fn alone() -> impl Iterator<Item = &'static Entry> {
    let is_part = |entry: &&Entry| crate::guard::ENTRIES.iter().any(|part| part.name == entry.name);
    entries().filter(move |entry| !is_part(entry))
}

/// Parameters that are a placement rather than a setting: the matrix takes each of their words.
pub const VARIED: &[&str] = &["at", "as"];

fn placements(entry: &'static Entry) -> Vec<String> {
    let varied = entry.params.iter().find(|param| VARIED.contains(&param.name));
    match varied.map(|param| (param.name, param.default)) {
        Some((name, Value::Word(words))) => words.iter().map(|w| format!("{}({name}={w})", entry.name)).collect(),
        _ => vec![entry.name.to_owned()],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Facts, member};
    use expect_test::expect;
    use rehang_words::Span;

    /// What each strategy asks of whoever plays it: a bound that is gone, or a request of too much, changes a line.
    #[test]
    fn what_each_one_asks_of_its_host() {
        let facts = Facts { healthy: Span::mins(10), asks: 1, responses: 2, bashes: 1 };
        let line = |entry: &Entry| {
            let strategy = member(entry.name).expect("a name of the catalogue").strategy;
            let asks = [
                (strategy.sends_prompt(), "sends the prompt"),
                (strategy.outlives_run(), "outlives the run"),
                (strategy.relays(), "relays stdin"),
                (strategy.wants_events(), "wants events"),
            ];
            let bound = strategy.bound(&facts).map_or("no bound".to_owned(), |bound| format!("at most {bound}"));
            let asks = asks.iter().filter(|(does, _)| *does).map(|(_, what)| *what);
            format!("{}: {}\n", entry.name, std::iter::once(bound.as_str()).chain(asks).collect::<Vec<_>>().join(", "))
        };
        let lines: String = entries().map(line).collect();
        expect![[r#"
            none: no bound
            wall: at most 4h, outlives the run
            idle@f54b32f: at most 3601s
            idle@off: at most 3601s
            idle@grace: at most 3941s
            auto-answer@r1: no bound
            auto-answer@r2: no bound
            auto-answer@r3: no bound
            auto-approve@v1: no bound
            auto-approve@v2: no bound, relays stdin
            cli-manager: no bound, relays stdin
            watcher@pr2: at most 1810s, sends the prompt
            watcher@pr3: at most 14410s, sends the prompt
            watcher@pr5: at most 14410s, sends the prompt
            watcher@desc: at most 14410s, sends the prompt
            heal@pr3: no bound, sends the prompt
            heal@pr5: no bound, sends the prompt
            monitor@pr3: no bound, sends the prompt
            monitor@pr5: no bound, sends the prompt
            ledger@v0: no bound
            recovery@430: no bound, wants events
            external-result: no bound
            not-offered: no bound
            blind-timeout: no bound
            pending-ask: no bound, wants events
            guard-asks: no bound
            guard-process: no bound
            guard-server: no bound
        "#]]
        .assert_eq(&lines);
    }

    #[test]
    fn any_agents_matrix_begins_with_none_and_has_the_stacks_that_can_be_used_alone() {
        expect![[r#"
            none
            wall
            idle@f54b32f
            idle@off
            idle@grace
            auto-answer@r1(at=tool)
            auto-answer@r1(at=ask)
            auto-answer@r2(at=tool)
            auto-answer@r2(at=ask)
            auto-answer@r3(at=tool)
            auto-answer@r3(at=ask)
            auto-approve@v1
            auto-approve@v2
            cli-manager
            watcher@pr2
            watcher@pr3
            watcher@pr5
            watcher@desc
            heal@pr3
            heal@pr5
            monitor@pr3
            monitor@pr5
            ledger@v0
            recovery@430
            external-result
            not-offered(as=refused)
            not-offered(as=withheld)
            blind-timeout
            pending-ask
            guard
            guard-inside"#]]
        .assert_eq(&stacks().join("\n"));
    }
}
