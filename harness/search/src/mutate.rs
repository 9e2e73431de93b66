//! New scenarios: fresh ones, and old ones with a change.
//!
//! A change is made to the scenario as data (JSON), so that nested turns, steps and people change as turns do: a
//! list gains, loses, moves or swaps a piece, a value takes another of its kind, a part comes from another scenario.
//!
//! Invariant: whatever comes out is a [`Case`] that is playable; the same random source gives the same scenarios.

use crate::case::{Case, NONE};
use crate::observed::{Observed, aimed, timed};
use rehang_scenario::playable::is_playable;
use rehang_scenario::random::vocabulary::{EVENTS, PATHS, PERMISSIONS, ROLES, TOOLS};
use rehang_scenario::random::{Kind, Rng};
use rehang_scenario::turns::{Task, Turn};
use rehang_scenario::{Fault, ModelDoes, Person, Scenario, Sees, Span};
use serde_json::Value;

/// Changes of one scenario at a time.
const CHANGES_MAX: usize = 4;
/// The number of values from which on a scenario does not grow: a search looks for small ones.
const VALUES_MAX: usize = 400;
/// The least span between two things that repeat: hours of less are millions of steps.
const PACE: Span = Span::secs(10);
/// How long a person who looks at a list every 2 s waits at most: a little more than the first limits.
const LOOKS_FOR: Span = Span::mins(11);
/// How often a candidate that cannot be played is thrown away before a fresh scenario is taken.
const TRIES: usize = 20;
/// The keys of what changes as data.
const KEYS: [&str; 4] = ["turns", "faults", "people", "agent"];

/// A scenario that has never been seen, with an agent of this kind.
pub fn fresh(rng: &mut Rng, kind: Kind) -> Case {
    loop {
        let scenario = rng.scenario(kind);
        if let Some(case) = tamed(scenario) {
            return case;
        }
    }
}

/// An old scenario with a few changes, aimed at what its runs met; parts that it takes over come from the other
/// scenario.
pub fn changed(rng: &mut Rng, old: &Scenario, observed: &Observed, other: &Scenario) -> Case {
    for _ in 0..TRIES {
        let mut scenario = old.clone();
        for _ in 0..=rng.below(CHANGES_MAX) {
            scenario = change(rng, &scenario, observed, other).unwrap_or(scenario);
        }
        if scenario != *old
            && let Some(case) = tamed(scenario)
        {
            return case;
        }
    }
    fresh(rng, Kind::of(&old.agent))
}

fn change(rng: &mut Rng, old: &Scenario, observed: &Observed, other: &Scenario) -> Option<Scenario> {
    let mut scenario = old.clone();
    match rng.weighted(&[2, 4, 4, 1, 1, 1, 1, 1, 3, 8, 8]) {
        0 => scenario.agent = rng.agent(),
        1 => scenario.people.push(match old.people.last().cloned().filter(|_| rng.one_in(2)) {
            Some(first) => rng.tries_again(first, &old.agent, &old.turns),
            None => somebody(rng, old, observed),
        }),
        2 => {
            let fault = trouble(rng, old, observed);
            let company = rng.company(&fault);
            scenario.faults.extend([Some(fault), company].into_iter().flatten());
        }
        3 => scenario.terminals = vec![rng.terminal(&old.agent)],
        4 => rng.set_variable(&mut scenario),
        5 if rng.one_in(2) && !scenario.args.is_empty() => scenario.args.clear(),
        5 => rng.add_argument(&mut scenario),
        6 => match rng.below(3) {
            0 => scenario.runs = 3 - scenario.runs.min(2),
            1 => scenario.afterwards = Some(rng.span()),
            _ => scenario.seeds = vec![1 + rng.below(3) as u64],
        },
        7 => {
            let turns = std::mem::take(&mut scenario.turns);
            scenario.turns = match rng.below(2) {
                0 if !turns.is_empty() => vec![Turn::Task(Task { description: rng.text(), turns })],
                _ => [turns.clone(), turns].concat(),
            };
        }
        8 => take_over(rng, &mut scenario, other),
        9 => return change_list(rng, old, observed),
        _ => return change_value(rng, old),
    }
    Some(scenario)
}

/// Takes a part of another scenario over.
fn take_over(rng: &mut Rng, scenario: &mut Scenario, other: &Scenario) {
    match rng.below(5) {
        0 => scenario.turns.clone_from(&other.turns),
        1 => scenario.faults.clone_from(&other.faults),
        2 => scenario.people.clone_from(&other.people),
        3 => scenario.env.clone_from(&other.env),
        _ => {
            scenario.agent.clone_from(&other.agent);
            scenario.args.clone_from(&other.args);
            scenario.terminals.clone_from(&other.terminals);
        }
    }
}

/// Changes a list of pieces somewhere: one more, one less, another, two swapped.
fn change_list(rng: &mut Rng, old: &Scenario, observed: &Observed) -> Option<Scenario> {
    let piece = |key: &str, value: &Value| value.is_array() && Piece::of(key).is_some();
    change_data(rng, old, &piece, |source, key, value| {
        let (Some(piece), Value::Array(list)) = (Piece::of(key), value) else { return };
        let len = list.len();
        let (from, to) = (source.below(len), source.below(len + 1));
        match source.below(5) {
            0 if !list.is_empty() => drop(list.remove(from)),
            1 if !list.is_empty() => list.insert(to, list[from].clone()),
            2 if !list.is_empty() => list.swap(from, to.min(len - 1)),
            3 if !list.is_empty() => list[from] = drawn(source, piece, old, observed),
            _ => list.insert(to, drawn(source, piece, old, observed)),
        }
    })
}

/// A fault of something that this scenario does; one in four of anything.
fn trouble(rng: &mut Rng, of: &Scenario, observed: &Observed) -> Fault {
    let nothing = Observed::default();
    let observed = if rng.one_in(4) { &nothing } else { observed };
    aimed(rng, observed, |source| source.fault(&of.agent, &of.turns))
}

/// Somebody who acts in this scenario.
fn somebody(rng: &mut Rng, of: &Scenario, observed: &Observed) -> Person {
    let person = rng.person(&of.agent, &of.turns, &of.faults);
    timed(rng, observed, person)
}

/// Changes one value somewhere: a time, a word, a number, a flag. As often as not a time, since strategies differ
/// by little else.
fn change_value(rng: &mut Rng, old: &Scenario) -> Option<Scenario> {
    let any = |_: &str, value: &Value| !value.is_array() && !value.is_object();
    let times = |_: &str, value: &Value| is_span(value);
    let leaf: &dyn Fn(&str, &Value) -> bool = if rng.one_in(2) { &times } else { &any };
    change_data(rng, old, leaf, |source, key, value| {
        let span = is_span(value);
        let word = |source: &mut Rng, all: &[&str]| Value::from(source.pick(all));
        *value = match (key, &*value) {
            _ if span => Value::from(source.span().to_string()),
            ("timeout" | "retry-after", _) => Value::from(source.span().to_string()),
            ("type", Value::String(old)) if old.contains('.') => word(source, &EVENTS),
            ("path", _) => word(source, &PATHS),
            ("role", _) => word(source, &ROLES),
            ("asks" | "permission", _) => word(source, &PERMISSIONS),
            ("tool", Value::String(_)) => word(source, &TOOLS),
            ("as", _) => word(source, &releases()),
            (_, Value::String(_)) => Value::from(source.text()),
            (_, Value::Number(_)) => Value::from(source.pick(&[0, 1, 2, 3, 20, 65_537])),
            (_, Value::Bool(flag)) => Value::from(!flag),
            (_, other) => match other.is_null() {
                true => Value::from(source.one_in(2)),
                false => other.clone(),
            },
        };
    })
}

/// Changes one of the values that `meant` accepts, each equally likely.
fn change_data(
    rng: &mut Rng,
    old: &Scenario,
    meant: &dyn Fn(&str, &Value) -> bool,
    alter: impl FnOnce(&mut Rng, &str, &mut Value),
) -> Option<Scenario> {
    let mut whole = serde_json::to_value(old).ok()?;
    if KEYS.iter().map(|key| count(&whole[*key], key, &|_, _| true)).sum::<usize>() > VALUES_MAX {
        return None;
    }
    let mut place = rng.below(KEYS.iter().map(|key| count(&whole[*key], key, meant)).sum());
    let (key, value) =
        KEYS.iter().zip(every(&mut whole, &KEYS)).find_map(|(key, value)| nth(value, key, meant, &mut place))?;
    let key = key.to_owned();
    alter(rng, &key, value);
    serde_json::from_value(whole).ok()
}

fn drawn(rng: &mut Rng, piece: Piece, of: &Scenario, observed: &Observed) -> Value {
    let value = match piece {
        Piece::Turn => serde_json::to_value(rng.turn(1)),
        Piece::Call => serde_json::to_value(rng.call()),
        Piece::Step => serde_json::to_value(rng.step(1)),
        Piece::Question => serde_json::to_value(rng.question()),
        Piece::Choice => serde_json::to_value(rng.choice()),
        Piece::Fault => serde_json::to_value(trouble(rng, of, observed)),
        Piece::Person => serde_json::to_value(somebody(rng, of, observed)),
        Piece::Text => serde_json::to_value(rng.text()),
    };
    value.unwrap_or_default()
}

fn is_span(value: &Value) -> bool {
    matches!(value, Value::String(text) if Span::parse(text).is_ok())
}

/// What a list holds.
#[derive(Debug, Clone, Copy)]
enum Piece {
    Turn,
    Call,
    Step,
    Question,
    Choice,
    Fault,
    Person,
    Text,
}

impl Piece {
    /// What a list under this key holds.
    fn of(key: &str) -> Option<Piece> {
        Some(match key {
            "turns" => Piece::Turn,
            "together" => Piece::Call,
            "program" | "run" | "does" => Piece::Step,
            "ask" => Piece::Question,
            "options" => Piece::Choice,
            "faults" => Piece::Fault,
            "people" => Piece::Person,
            "answer" | "patterns" => Piece::Text,
            _ => return None,
        })
    }
}

/// The scenario as a case, if it can be played in reasonable time.
fn tamed(mut scenario: Scenario) -> Option<Case> {
    scenario.title = "found by rehang explore".to_owned();
    scenario.about = None;
    scenario.cites.clear();
    scenario.stages = None;
    scenario.survives.clear();
    for person in &mut scenario.people {
        if matches!(person.sees, Some(Sees::List | Sees::Blocker)) {
            person.after = person.after.min(LOOKS_FOR);
        }
    }
    for fault in &mut scenario.faults {
        if let Fault::Model(fault) = fault {
            match &mut fault.does {
                ModelDoes::KeepAlive(every) | ModelDoes::Slow(every) => *every = PACE.max(*every),
                _ => {}
            }
        }
    }
    if !scenario.agent.kind().has_model {
        scenario.turns.clear();
    }
    fit(&mut scenario);
    if scenario.terminals.is_empty() || scenario.seeds.is_empty() {
        return None;
    }
    let mut whole = serde_json::to_value(&scenario).ok()?;
    if count(&whole, "", &|_, _| true) > 2 * VALUES_MAX {
        return None;
    }
    pace(&mut whole);
    let case = Case::of(serde_json::from_value(whole).ok()?, NONE);
    case.is_playable().then_some(case)
}

/// Lines at an even pace come no faster than [`PACE`], and nothing spins.
fn pace(value: &mut Value) {
    match value {
        Value::Array(list) => {
            list.retain(|step| step.as_str() != Some("spin"));
            list.iter_mut().for_each(pace);
        }
        Value::Object(table) => {
            if let Some(Value::String(every)) = table.get_mut("every")
                && Span::parse(every).is_ok_and(|span| span < PACE)
            {
                *every = PACE.to_string();
            }
            table.values_mut().for_each(pace);
        }
        _ => {}
    }
}

/// Removes the faults and people that its agent cannot have.
fn fit(scenario: &mut Scenario) {
    if is_playable(scenario) {
        return;
    }
    let alone = Scenario { faults: Vec::new(), people: Vec::new(), ..scenario.clone() };
    scenario.faults.retain(|fault| is_playable(&Scenario { faults: vec![fault.clone()], ..alone.clone() }));
    scenario.people.retain(|person| is_playable(&Scenario { people: vec![person.clone()], ..alone.clone() }));
}

/// The values under these keys.
fn every<'a>(whole: &'a mut Value, keys: &[&str]) -> Vec<&'a mut Value> {
    let Value::Object(table) = whole else { return Vec::new() };
    let mut found: Vec<Option<&mut Value>> = keys.iter().map(|_| None).collect();
    for (key, value) in table {
        if let Some(place) = keys.iter().position(|wanted| wanted == key) {
            found[place] = Some(value);
        }
    }
    found.into_iter().flatten().collect()
}

/// How many values here and below `meant` accepts.
fn count(value: &Value, key: &str, meant: &dyn Fn(&str, &Value) -> bool) -> usize {
    usize::from(meant(key, value))
        + match value {
            Value::Array(list) => list.iter().map(|value| count(value, "", meant)).sum(),
            Value::Object(table) => table.iter().map(|(key, value)| count(value, key, meant)).sum(),
            _ => 0,
        }
}

/// The accepted value at a place in depth-first order, with its key.
fn nth<'a>(
    value: &'a mut Value,
    key: &'a str,
    meant: &dyn Fn(&str, &Value) -> bool,
    place: &mut usize,
) -> Option<(&'a str, &'a mut Value)> {
    if meant(key, value) {
        if *place == 0 {
            return Some((key, value));
        }
        *place -= 1;
    }
    match value {
        Value::Array(list) => list.iter_mut().find_map(|value| nth(value, "", meant, place)),
        Value::Object(table) => table.iter_mut().find_map(|(key, value)| nth(value, key, meant, place)),
        _ => None,
    }
}

/// The releases of all agents that have a choice.
fn releases() -> Vec<&'static str> {
    rehang_scenario::agents::ALL.iter().flat_map(|kind| kind.releases).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::rng;

    #[test]
    fn the_same_seed_gives_the_same_scenarios() {
        let play = |seed| {
            let mut source = rng(seed);
            let mut all = vec![fresh(&mut source, Kind::OPENCODE_SERVER)];
            for _ in 0..50 {
                let old = all.last().unwrap().scenario.clone();
                all.push(changed(&mut source, &old, &Observed::default(), &all[0].scenario));
            }
            all
        };
        let (first, again, other) = (play(1), play(1), play(2));
        assert_eq!(first, again);
        assert_ne!(first, other);
        assert!(first.iter().all(Case::is_playable));
    }
}
