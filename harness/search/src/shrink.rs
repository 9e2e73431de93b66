//! Makes a case small: everything is removed that is not needed for what it shows, and times become round.
//!
//! It works on the scenario as data (JSON), so that it knows nothing of turns, faults or people: whatever the format
//! gains can be shrunk the same day. A candidate that is not a scenario is dropped before it is played.
//!
//! Invariants: the result shows the property; its agent is of the same kind, started the same way and reached by the
//! same wires, so that the same strategies can run there; no single further step of those tried makes it smaller
//! (unless the limit was met, and then the result says so); the same case shrinks to the same result.

use crate::case::Case;
use rehang_scenario::{Agent, Scenario, Span, to_toml};
use serde_json::{Map, Value};

/// Keys of a scenario that decide how a run goes; the others say what it means.
const KEYS: [&str; 8] = ["turns", "faults", "people", "env", "args", "survives", "stages", "agent"];

/// Times that people would write, longest first.
const ROUND: [Span; 13] = [
    Span::hours(4),
    Span::hours(1),
    Span::mins(30),
    Span::mins(15),
    Span::mins(10),
    Span::mins(5),
    Span::mins(1),
    Span::secs(30),
    Span::secs(10),
    Span::secs(5),
    Span::secs(2),
    Span::secs(1),
    Span::ZERO,
];

/// How much may be tried.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// The most plays: each is one or two cells on the simulated kernel.
    pub plays: usize,
    /// Whether commands keep their words, by which a reader recognises the hang.
    pub keeps_commands: bool,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { plays: 20_000, keeps_commands: false }
    }
}

/// A case that was made small.
#[derive(Debug, Clone)]
pub struct Shrunk {
    /// The smallest case that still shows it.
    pub case: Case,
    /// How many candidates were played.
    pub plays: usize,
    /// Whether nothing more could be removed; else the limit was met.
    pub minimal: bool,
}

/// Makes a case small for as long as it `shows` what is of interest. The case itself must show it.
pub fn shrink(case: &Case, limits: Limits, shows: &mut dyn FnMut(&Case) -> bool) -> Shrunk {
    let Ok(Value::Object(whole)) = serde_json::to_value(&case.scenario) else {
        return Shrunk { case: case.clone(), plays: 0, minimal: false };
    };
    let written_bytes = written(case);
    let mut shrinker = Shrinker { best: case.clone(), whole, written_bytes, plays: 0, limits, shows };
    while shrinker.pass() {}
    let minimal = shrinker.plays < limits.plays;
    Shrunk { case: shrinker.best, plays: shrinker.plays, minimal }
}

struct Shrinker<'a> {
    best: Case,
    whole: Map<String, Value>,
    written_bytes: usize,
    plays: usize,
    limits: Limits,
    shows: &'a mut dyn FnMut(&Case) -> bool,
}

/// Where a value is: keys and places from the top.
type Path = Vec<Step>;

#[derive(Debug, Clone, PartialEq)]
enum Step {
    Key(String),
    At(usize),
}

impl Shrinker<'_> {
    /// Tries everything once; returns whether something became smaller.
    fn pass(&mut self) -> bool {
        let mut smaller = false;
        for key in KEYS {
            let path = vec![Step::Key(key.to_owned())];
            smaller |= self.value(&path);
        }
        smaller
    }

    /// Makes the value at a path smaller, the whole of it first, then what is in it.
    fn value(&mut self, path: &Path) -> bool {
        let Some(value) = at(&self.whole, path).cloned() else { return false };
        match value {
            Value::Array(list) => self.list(path, list.len()),
            Value::Object(table) => {
                let mut smaller = false;
                for key in table.keys() {
                    let below = [path.as_slice(), &[Step::Key(key.clone())]].concat();
                    smaller |= self.drop_key(path, key) || self.value(&below);
                }
                smaller
            }
            other => self.leaf(path, &other),
        }
    }

    /// Removes runs of elements, halves first; then looks into those that stay.
    fn list(&mut self, path: &Path, len: usize) -> bool {
        let mut smaller = false;
        let mut run = len;
        while run > 0 {
            let mut from = 0;
            while let Some(Value::Array(list)) = at(&self.whole, path)
                && from < list.len()
            {
                let to = (from + run).min(list.len());
                let without = [&list[..from], &list[to..]].concat();
                if self.take(path, Value::Array(without)) {
                    smaller = true;
                } else {
                    from += run;
                }
            }
            run /= 2;
        }
        let mut place = 0;
        while let Some(Value::Array(list)) = at(&self.whole, path)
            && place < list.len()
        {
            let lifted: Vec<Value> = lifted(list, place);
            let below = [path.as_slice(), &[Step::At(place)]].concat();
            if lifted.into_iter().any(|list| self.take(path, list)) {
                smaller = true;
                continue;
            }
            smaller |= self.value(&below);
            place += 1;
        }
        smaller
    }

    fn drop_key(&mut self, path: &Path, key: &str) -> bool {
        match at(&self.whole, path) {
            Some(Value::Object(table)) => {
                let mut without = table.clone();
                without.shift_remove(key);
                // a default that is written out counts as no larger than one that is left out
                self.take(path, Value::Object(without))
            }
            _ => false,
        }
    }

    fn leaf(&mut self, path: &Path, value: &Value) -> bool {
        if self.limits.keeps_commands && path.last() == Some(&Step::Key("command".to_owned())) {
            return false;
        }
        let candidates: Vec<Value> = match value {
            Value::String(text) => match Span::parse(text) {
                Ok(span) => rounder(span).into_iter().map(|span| Value::from(span.to_string())).collect(),
                Err(_) => shorter(text).into_iter().map(Value::from).collect(),
            },
            Value::Number(number) => {
                let number = number.as_u64().unwrap_or_default();
                let mut less: Vec<u64> = vec![0, 1, number / 2];
                less.retain(|&n| n < number);
                less.dedup();
                less.into_iter().map(Value::from).collect()
            }
            Value::Bool(true) => vec![Value::Bool(false), Value::Null],
            Value::Bool(false) => vec![Value::Null],
            _ => Vec::new(),
        };
        candidates.into_iter().any(|candidate| self.take(path, candidate))
    }

    /// Puts a value in the place of another, if what comes out is a scenario that still shows it.
    fn take(&mut self, path: &Path, value: Value) -> bool {
        if self.plays >= self.limits.plays {
            return false;
        }
        let mut whole = self.whole.clone();
        match at_mut(&mut whole, path) {
            Some(old) if *old != value => *old = value,
            _ => return false,
        }
        let Ok(scenario) = serde_json::from_value::<Scenario>(Value::Object(whole)) else { return false };
        if scenario == self.best.scenario || !is_reached_alike(&scenario.agent, &self.best.scenario.agent) {
            return false;
        }
        let Ok(Value::Object(whole)) = serde_json::to_value(&scenario) else { return false };
        let case = Case { scenario, stack: self.best.stack.clone() };
        let written_bytes = written(&case);
        // a round time may be longer than an odd one; all else must not grow, or two defaults could take turns
        let rounds = matches!(at(&self.whole, path), Some(Value::String(text)) if Span::parse(text).is_ok());
        if (written_bytes > self.written_bytes && !rounds) || !case.is_playable() {
            return false;
        }
        self.plays += 1;
        let taken = (self.shows)(&case);
        if taken {
            (self.best, self.whole, self.written_bytes) = (case, whole, written_bytes);
        }
        taken
    }
}

/// Whether two agents are of one kind and mode, and the same strategies reach them.
fn is_reached_alike(one: &Agent, other: &Agent) -> bool {
    let mode = |agent: &Agent| (agent.kind(), agent.mode());
    one == other || mode(one) == mode(other) && one.wires() == other.wires()
}

/// How long the file is.
fn written(case: &Case) -> usize {
    to_toml(&case.scenario, None).len()
}

/// The list with the element at a place replaced by a list inside it: a subagent's turns in place of the subagent.
fn lifted(list: &[Value], place: usize) -> Vec<Value> {
    let mut inner = Vec::new();
    lists(&list[place], &mut inner);
    let lift = |inner: &&Vec<Value>| Value::Array([&list[..place], inner.as_slice(), &list[place + 1..]].concat());
    inner.iter().filter(|inner| !inner.is_empty()).map(lift).collect()
}

fn lists<'a>(value: &'a Value, all: &mut Vec<&'a Vec<Value>>) {
    match value {
        Value::Array(list) => all.push(list),
        Value::Object(table) => table.values().for_each(|value| lists(value, all)),
        _ => {}
    }
}

/// Rounder spans, the shortest first; a rounder one may be a little longer.
fn rounder(span: Span) -> Vec<Span> {
    let next = ROUND.iter().rev().copied().find(|round| *round >= span);
    let below = ROUND.iter().rev().copied().filter(|round| *round < span);
    let longer = next.filter(|next| *next != span && !ROUND.contains(&span));
    let whole_seconds = Span::secs(span.as_ms() / 1_000 + 1);
    let seconds = (!span.as_ms().is_multiple_of(1_000)).then_some(whole_seconds);
    below.chain(longer).chain(seconds).collect()
}

/// Shorter texts: none, a plain word, the first half.
fn shorter(text: &str) -> Vec<String> {
    let half: String = text.chars().take(text.chars().count() / 2).collect();
    let mut all = vec![String::new(), "a".to_owned(), half];
    all.retain(|shorter| shorter.len() < text.len());
    all.dedup();
    all
}

fn at<'a>(whole: &'a Map<String, Value>, path: &Path) -> Option<&'a Value> {
    let (Step::Key(first), rest) = path.split_first()? else { return None };
    rest.iter().try_fold(whole.get(first)?, |value, step| match step {
        Step::Key(key) => value.get(key),
        Step::At(place) => value.get(place),
    })
}

fn at_mut<'a>(whole: &'a mut Map<String, Value>, path: &Path) -> Option<&'a mut Value> {
    let (Step::Key(first), rest) = path.split_first()? else { return None };
    rest.iter().try_fold(whole.get_mut(first)?, |value, step| match step {
        Step::Key(key) => value.get_mut(key),
        Step::At(place) => value.get_mut(*place),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::property::Property;
    use expect_test::expect;
    use rehang_scenario::BlockedOn;
    use rehang_scenario::load;

    fn case(text: &str, stack: &str) -> Case {
        let family = load("case.toml", text.as_bytes()).into_result().unwrap();
        Case::of(family.variants[0].scenario.clone(), stack)
    }

    /// A question of a subagent's, amid work, a fault and people that have nothing to do with it.
    const NOISY: &str = r#"
title = "noise around a question"
mechanism = "Q2"
agent = { opencode = { as = "1.2.15", mode = "run" } }
terminals = ["null"]
env = { LANG = "C" }
turns = [
  { say = "Let me look around in the sources first." },
  { bash = { command = "ls", does = [{ print = "a" }, { sleep = "3456ms" }, { print = "b" }] } },
  { task = { description = "look", turns = [
    { say = "Looking." },
    { ask = [{ question = "Which one?", header = "One", options = [{ label = "A" }, { label = "B" }] }] },
    { say = "Thanks." },
  ] } },
  { say = "Done." },
]
faults = [{ process = { role = "agent.1", at = "2h", does = "crash" } }]

[[expect]]
outcome = { hung = "question" }
"#;

    #[test]
    fn what_is_not_needed_goes() {
        let noisy = case(NOISY, "none");
        let hangs = Property::Hangs(Some(BlockedOn::Question));
        let small = shrink(&noisy, Limits::default(), &mut |case| hangs.shown_by(case));
        assert!(small.minimal);
        assert!(hangs.shown_by(&small.case));
        expect![[r#"
            title = "noise around a question"
            mechanism = "Q2"
            agent = { opencode = { as = "1.2.15" } }
            terminals = ["null"]
            turns = [
              { ask = [] },
            ]

            [[expect]]
            outcome = "completed"
        "#]]
        .assert_eq(&to_toml(&small.case.scenario, None));
    }

    #[test]
    fn the_same_strategies_have_a_seat() {
        let hangs = Property::Hangs(Some(BlockedOn::Question));
        let modes = ["run", "serve"].map(|mode| NOISY.replace("\"run\"", &format!("\"{mode}\"")));
        let program = r#"
title = "a program that speaks as Claude does"
mechanism = "B5"
agent = { program = [{ print = '{"type":"system"}' }, { print = "a" }, "hold"] }
terminals = ["null"]

[[expect]]
outcome = { hung = "nothing" }
"#;
        let nothing = Property::Hangs(Some(BlockedOn::Nothing));
        for (text, shows) in [(&modes[0], &hangs), (&modes[1], &hangs), (&program.to_owned(), &nothing)] {
            let whole = case(text, "none");
            let small = shrink(&whole, Limits::default(), &mut |case| shows.shown_by(case));
            let (before, after) = (&whole.scenario.agent, &small.case.scenario.agent);
            assert!(small.minimal && small.case.size() < whole.size());
            assert!(is_reached_alike(before, after), "{before:?} became {after:?}");
            let matrix = rehang_strategy::matrix;
            assert_eq!(matrix(&before.wires()), matrix(&after.wires()));
        }
    }

    #[test]
    fn times_become_round() {
        let noisy = case(
            r#"
title = "a silent compile"
mechanism = "F1"
agent = { claude = { as = "2.0.77", mode = "print" } }
terminals = ["null"]
env = { BASH_MAX_TIMEOUT_MS = "10800000" }
turns = [{ bash = { command = "make", does = [{ sleep = "1234567ms" }], timeout = "3h" } }, { say = "Built." }]

[[expect]]
outcome = "completed"
"#,
            "idle@f54b32f",
        );
        let harm = "breaks:harm".parse::<Property>().unwrap();
        let small = shrink(&noisy, Limits::default(), &mut |case| harm.shown_by(case));
        assert!(harm.shown_by(&small.case));
        expect![[r#"
            title = "a silent compile"
            mechanism = "F1"
            agent = { claude = { as = "2.0.77" } }
            terminals = ["null"]
            turns = [
              { bash = { command = "", does = [{ sleep = "15m" }], timeout = "15m" } },
            ]

            [[expect]]
            outcome = "completed"
        "#]]
        .assert_eq(&to_toml(&small.case.scenario, None));
    }

    #[test]
    fn the_limit_is_kept_and_told() {
        let noisy = case(NOISY, "none");
        let mut played = 0;
        let small = shrink(&noisy, Limits { plays: 3, ..Limits::default() }, &mut |_| {
            played += 1;
            false
        });
        assert_eq!((small.plays, played, small.minimal), (3, 3, false));
        assert_eq!(small.case, noisy);
    }
}
