//! Suggestions for a filter that matches nothing.
//!
//! Invariant: each part of a suggestion is an existing name, and the whole differs from what was given.

use crate::catalogue::{Strategies, checked};
use crate::unit::variant_name;
use rehang_scenario::Mechanism;
use rehang_scenario::Terminal;
use rehang_scenario::cells::cells;
use rehang_scenario::file::Family;
use rehang_scenario::text::{suggest, suggest_part};

/// What separates the parts of a cell's name.
const BETWEEN: &str = "::";

/// The filter that was meant by one that matches nothing of these files; `None` if nothing is near.
pub fn meant(filter: &str, families: &[Family], catalogue: &Strategies) -> Option<String> {
    let names: Vec<String> = families.iter().flat_map(names).collect();
    let near = match filter.contains(BETWEEN) {
        true => cell(filter, &names, families, catalogue),
        false => word(filter, &names, families),
    };
    near.filter(|near| near != filter)
}

/// The nearest name of a scenario, a mechanism, a strategy or a terminal.
fn word(filter: &str, names: &[String], families: &[Family]) -> Option<String> {
    let names = names.iter().map(String::as_str);
    let ids = || Mechanism::ALL.iter().filter(|m| is_played(m.id(), families));
    let strategies = rehang_strategy::all().into_iter().flat_map(|entry| [entry.family(), entry.name]);
    let words = ids().flat_map(|m| [m.id(), m.name()]).chain(strategies).chain(Terminal::ALL.map(Terminal::name));
    let near = suggest_part(filter, names.chain(words))?;
    // a filter may be the id of a mechanism, not its name
    let id = ids().find(|m| m.name() == near).map_or(near, |m| m.id());
    Some(id.to_owned())
}

fn names(family: &Family) -> Vec<String> {
    family.variants.iter().map(|variant| variant_name(&family.name, &variant.name)).collect()
}

fn is_played(mechanism: &str, families: &[Family]) -> bool {
    families.iter().flat_map(|family| &family.variants).any(|variant| variant.scenario.mechanism == mechanism)
}

/// The name of a cell with each unknown part replaced by the nearest known one. If all parts are known, but there is no
/// such cell, the nearest cell of the same scenario.
fn cell(filter: &str, names: &[String], families: &[Family], catalogue: &Strategies) -> Option<String> {
    let mut parts: Vec<String> = filter.split(BETWEEN).map(str::to_owned).collect();
    for (place, part) in parts.iter_mut().enumerate() {
        let near = match place {
            0 if names.iter().any(|name| name.contains(part.as_str())) => None,
            0 => Some(suggest_part(part, names.iter().map(String::as_str))?.to_owned()),
            1 => match checked(part) {
                Ok(_) => None,
                Err(error) => Some(error.mended(part)?),
            },
            2 => in_list(part, &Terminal::ALL.map(Terminal::name))?,
            _ if part.parse::<u64>().is_ok() => None,
            _ => in_list(part, &["control"])?,
        };
        if let Some(near) = near {
            *part = near;
        }
    }
    let mended = parts.join(BETWEEN);
    if mended != filter {
        return Some(mended);
    }
    let near = families.iter().filter(|family| names_of(family, &parts[0]));
    let ids: Vec<String> =
        near.flat_map(|family| cells(family, catalogue).cells).map(|cell| cell.id.to_string()).collect();
    suggest(filter, ids.iter().map(String::as_str)).map(str::to_owned)
}

fn names_of(family: &Family, part: &str) -> bool {
    names(family).iter().any(|name| name.contains(part))
}

/// `Some(None)` if the list has the part; else the nearest entry of the list.
fn in_list(part: &str, list: &[&'static str]) -> Option<Option<String>> {
    if list.contains(&part) {
        Some(None)
    } else {
        suggest(part, list.iter().copied()).map(|near| Some(near.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rehang_scenario::load;

    /// A file with one variant, whose question nobody answers.
    const ASKS: &str = r#"
title = "Asks"
mechanism = "Q1"
agent = { opencode = { mode = "serve" } }
terminals = ["null"]
turns = [{ ask = [{ question = "Which?", options = [{ label = "A" }, { label = "B" }] }] }]

[[vary]]
name = "blank"
set = { title = "Asks of nobody" }

[[expect]]
outcome = { hung = "question" }
"#;

    #[test]
    fn one_wrong_letter_is_seen_in_every_part_of_a_name() {
        let family = load("question/row-diff.toml", ASKS.as_bytes()).into_result().expect("a right file");
        let families = [Family { name: "question/row-diff".to_owned(), ..family }];
        let slips = [
            ("row-dfif", Some("row-diff")),
            ("qestion/", Some("question/")),
            ("question/row-dif[blank]", Some("question/row-diff[blank]")),
            ("q1", Some("Q1")),
            ("question-no-answer", Some("Q1")),
            ("idel", Some("idle")),
            ("tyt", Some("tty")),
            ("row-dfif::none::null::1", Some("row-diff::none::null::1")),
            ("question/row-diff::nnoe::null::1", Some("question/row-diff::none::null::1")),
            ("question/row-diff::idle@f54b32e::null", Some("question/row-diff::idle@f54b32f::null")),
            ("row-diff::none::nul", Some("row-diff::none::null")),
            ("question/row-diff::none::null::1::contrl", Some("question/row-diff::none::null::1::control")),
            ("question/row-diff[blank]::none::tty::1", Some("question/row-diff[blank]::none::null::1")),
            ("wall", None),
            ("far-away", None),
            ("far-away::none::null::1", None),
            ("question/row-diff::xyzzyplugh::null::1", None),
            ("question/row-diff::none::xyzzy::1", None),
        ];
        for (filter, near) in slips {
            assert_eq!(meant(filter, &families, &Strategies::default()).as_deref(), near, "{filter}");
        }
    }
}
