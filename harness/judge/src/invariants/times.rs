//! The part of invariant 3 that is about times: a report that says for how long nothing has come, or after how long it
//! acted, names no longer time than the cell is old.
//!
//! Invariant: a strategy may count over several runs of its caller, so the cell's age is what counts; only a time after
//! `for` or `after` counts, outside of quotes: others may be limits or a person's words.

use crate::index::At;
use rehang_scenario::{Policy, Span, VTime};

/// Why a report's time is untrue.
pub(super) fn too_long(who: &str, at: At, policy: &Policy) -> Option<String> {
    let age = at.t.since(VTime::ZERO);
    let named = longest(policy.text.as_deref()?).filter(|named| *named > age)?;
    Some(format!("{who} reports that {named} have passed, and {age} have"))
}

/// The longest time that a text says has passed.
fn longest(text: &str) -> Option<Span> {
    let plain: String = text.split(['`', '"', '“', '”']).step_by(2).collect::<Vec<_>>().join(" ");
    let words: Vec<&str> = plain.split([' ', ',', ';', '(', ')']).filter(|word| !word.is_empty()).collect();
    let after = words.iter().enumerate().filter(|(_, word)| ["for", "after"].contains(word));
    after.filter_map(|(at, _)| span(words.get(at + 1..)?)).max()
}

/// `600s`, `58 minutes`, `half an hour`.
fn span(words: &[&str]) -> Option<Span> {
    match words {
        ["half", "an", "hour", ..] => Some(Span::mins(30)),
        ["an", "hour", ..] => Some(Span::mins(60)),
        ["a", "minute", ..] => Some(Span::mins(1)),
        [number, unit, ..] if number.bytes().all(|byte| byte.is_ascii_digit()) => {
            let short = match unit.trim_end_matches(['.', 's']) {
                "m" => "ms",
                "second" => "s",
                "minute" => "m",
                "hour" => "h",
                _ => return None,
            };
            Span::parse(&format!("{number}{short}")).ok()
        }
        [one, ..] => Span::parse(one.trim_end_matches('.')).ok(),
        [] => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::report::check;
    use super::*;
    use crate::testing::*;
    use expect_test::{Expect, expect};

    fn up() -> Cell {
        Cell::new().started().at(700_000)
    }

    fn says(cell: Cell, want: Expect) {
        want.assert_eq(&said(check, cell, &facts("x")));
    }

    #[test]
    fn a_time_is_what_is_said_to_have_passed() {
        let of = |text: &str| longest(text).map(|span| span.to_string());
        let all = [
            ("nobody has answered for 58 minutes", Some("58m")),
            ("the model has sent nothing for half an hour", Some("30m")),
            ("silent for an hour, after 2 seconds", Some("1h")),
            ("idle for a minute", Some("1m")),
            ("idle timeout after 600s", Some("10m")),
            ("silent for 600000ms.", Some("10m")),
            ("it said nothing (for 5 hours)", Some("5h")),
            ("ends after 1 second.", Some("1s")),
            ("within 30s", None),
            ("for 3 polls", None),
            ("for people", None),
            ("for", None),
            ("the question `wait for 2 hours?` is open", None),
            ("“for 2 hours”, for 1 minute", Some("1m")),
            ("for 99999999999999999999 hours", None),
        ];
        for (text, want) in all {
            assert_eq!(of(text).as_deref(), want, "{text}");
        }
    }

    #[test]
    fn a_report_names_no_longer_time_than_the_cell_is_old() {
        let report = |text: &str| {
            let constants = [("limit_ms".to_owned(), 30_000)].into();
            let policy = Policy { rule: Some("end".into()), text: Some(text.into()), constants, ..Policy::default() };
            up().report("guard", policy)
        };
        says(report("nobody has answered for 700s"), expect![""]);
        says(
            report("nobody has answered for 58 minutes"),
            expect![[r#"
                700s untrue-report: guard reports that 58m have passed, and 700s have
            "#]],
        );
    }
}
