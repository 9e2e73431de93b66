//! What a run has reached: features that steer the search, and named states that its report counts.
//!
//! Invariant: both are functions of verdicts and traces; a feature is a number so that many fit, a state is a name
//! that a reader understands.

use crate::finding::cause;
use crate::limits::LIMITS;
use rehang_judge::{Outcome, Verdict};
use rehang_scenario::{BlockedOn, Invariant, fnv};
use rehang_trace::{Actor, AskEnd, Cause, Ended, Fact, Trace, What, actor};
use std::collections::{BTreeMap, BTreeSet};

/// How many characters of what a strategy says are compared.
const SAID_MAX: usize = 80;
/// What no hang of a search is blocked on: nothing spins in it, and a process that waits for a message waits on stdin.
const NOT_HERE: [BlockedOn; 3] = [BlockedOn::Spin, BlockedOn::Message, BlockedOn::Unknown];
const ENDS: [AskEnd; 4] = [AskEnd::Replied, AskEnd::Skipped, AskEnd::Rejected, AskEnd::Dropped];
const CAUSES: [Cause; 7] =
    [Cause::Answer, Cause::Dismiss, Cause::Stop, Cause::Shutdown, Cause::Malformed, Cause::Policy, Cause::Silence];

/// Features of the baseline's run: which event follows which.
pub fn path(agent: &str, trace: &Trace, features: &mut BTreeSet<u64>) {
    let mut before = String::new();
    for event in &trace.events {
        let word = word(&event.what);
        features.insert(hash(&[agent, &before, &word]));
        before = word;
    }
}

/// The named states that a run under a stack reached. What comes of it is a feature: how it ends, how late among the
/// limits, with what broken; each of its states. What the stack does is in [`done`].
pub fn reached(
    stack: &str,
    verdict: &Verdict,
    trace: &Trace,
    features: &mut BTreeSet<u64>,
    all: &mut BTreeSet<String>,
) {
    let broken: Vec<&str> = verdict.broken().into_iter().map(Invariant::name).collect();
    let cause = match &verdict.outcome {
        Outcome::Stopped { cause } => cause,
        _ => "",
    };
    let class = class(&verdict.outcome);
    features.insert(hash(&[stack, &class, cause, &broken.join(",")]));
    let limits = LIMITS.iter().take_while(|limit| limit.as_ms() <= verdict.ended.0).count();
    features.insert(hash(&[stack, &class, &limits.to_string()]));
    let mut states = BTreeSet::new();
    self::states(verdict, trace, &mut states);
    for state in states {
        features.insert(hash(&[stack, &state]));
        all.insert(state);
    }
}

/// Features of what a stack does in a run, whether or not the run comes to its end: what follows what, and that it
/// happened twice, four times, eight times, since a strategy that gives up does so after its last try and not its
/// first.
pub fn done(stack: &str, trace: &Trace, features: &mut BTreeSet<u64>) {
    let mut before = String::new();
    let mut times: BTreeMap<u64, u64> = BTreeMap::new();
    for event in trace.events.iter().filter(|event| actor(&event.who) == Actor::Strategy) {
        let does = does(&event.what, stack);
        features.insert(hash(&[stack, &before, &does]));
        let count = times.entry(hash(&[&does])).or_default();
        *count += 1;
        if count.is_power_of_two() {
            features.insert(hash(&[stack, &count.to_string(), &does]));
        }
        before = does;
    }
}

/// What a strategy does or is told, without the parts that differ from run to run.
fn does(what: &What, stack: &str) -> String {
    match what {
        What::Request { method, path, .. } => format!("{method} {}", path.replace(|c: char| c.is_ascii_digit(), "")),
        What::Response { status, .. } => format!("gets {status}"),
        What::RequestFailed { why, .. } => why.clone(),
        What::Looked { at, saw } => {
            format!("sees {at} {}", saw.as_u64().map_or(saw.to_string(), |n| n.min(1).to_string()))
        }
        What::Report(policy) => {
            let of = |text: &Option<String>| text.clone().unwrap_or_default();
            format!("reports {} {}", of(&policy.detected), of(&policy.cause))
        }
        What::Says(text) => {
            let plain = cause(text, stack);
            plain.chars().take(SAID_MAX).collect()
        }
        What::Settled { outcome, cause, .. } => format!("{outcome} {cause}"),
        other => word(other),
    }
}

/// The named states that a run reached.
fn states(verdict: &Verdict, trace: &Trace, all: &mut BTreeSet<String>) {
    all.insert(format!("ends {}", class(&verdict.outcome)));
    all.extend(verdict.broken().into_iter().map(|invariant| format!("breaks {}", invariant.name())));
    for event in &trace.events {
        match &event.what {
            What::Fact(Fact::AskEnded { end, cause, .. }) => {
                all.insert(ask(*end, *cause));
            }
            What::Ended(ended) => {
                all.insert(format!("proof {}", proof(ended)));
            }
            What::Stopped(_) => drop(all.insert("process stopped".to_owned())),
            What::Adopted => drop(all.insert("process adopted".to_owned())),
            What::Killed(_) => drop(all.insert("process killed".to_owned())),
            What::RequestFailed { .. } => drop(all.insert("request failed".to_owned())),
            What::SseEnd => drop(all.insert("event stream ended".to_owned())),
            _ => {}
        }
    }
}

/// All named states: a search knows nothing of those that it has not reached.
pub fn universe() -> BTreeSet<String> {
    let mut all: BTreeSet<String> =
        BlockedOn::ALL.iter().filter(|on| !NOT_HERE.contains(on)).map(|on| format!("ends hung on {on}")).collect();
    all.extend(["completed", "failed", "stopped"].map(|word| format!("ends {word}")));
    all.extend(Invariant::ALL.map(|invariant| format!("breaks {}", invariant.name())));
    all.extend(["settled", "deadlock", "lasso"].map(|proof| format!("proof {proof}")));
    let processes = ["process stopped", "process adopted", "process killed", "request failed", "event stream ended"];
    all.extend(processes.map(str::to_owned));
    for end in ENDS {
        all.extend(CAUSES.into_iter().filter(|cause| can_end(end, *cause)).map(|cause| ask(end, cause)));
    }
    all
}

/// Which causes an end can have.
fn can_end(end: AskEnd, cause: Cause) -> bool {
    match end {
        AskEnd::Replied => matches!(cause, Cause::Answer | Cause::Policy),
        AskEnd::Skipped => matches!(cause, Cause::Answer | Cause::Policy),
        AskEnd::Rejected => cause != Cause::Answer,
        AskEnd::Dropped => matches!(cause, Cause::Stop | Cause::Shutdown),
    }
}

fn ask(end: AskEnd, cause: Cause) -> String {
    let word = |value: serde_json::Result<serde_json::Value>| match value {
        Ok(serde_json::Value::String(word)) => word,
        _ => String::new(),
    };
    format!("ask {} by {}", word(serde_json::to_value(end)), word(serde_json::to_value(cause)))
}

fn proof(ended: &Ended) -> &'static str {
    match ended {
        Ended::Settled => "settled",
        Ended::Deadlock(_) => "deadlock",
        Ended::Lasso { .. } => "lasso",
        Ended::Horizon { .. } => "horizon",
    }
}

/// An outcome without what differs from run to run.
pub fn class(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Hung { blocked_on, .. } => format!("hung on {blocked_on}"),
        other => other.word().to_owned(),
    }
}

/// The kind of an event, and of what it is about.
fn word(what: &What) -> String {
    // large values are not written out just for their kind
    match what {
        What::Sse(event) => return event.kind().to_string(),
        What::Out { fd, .. } => return format!("out {fd}"),
        What::In { .. } => return "in".to_owned(),
        What::Request { .. } => return "request".to_owned(),
        What::Response { .. } => return "response".to_owned(),
        _ => {}
    }
    let value = serde_json::to_value(what).unwrap_or_default();
    let (kind, inner) = match &value {
        serde_json::Value::String(kind) => (kind.as_str(), None),
        serde_json::Value::Object(table) => match table.iter().next() {
            Some((kind, inner)) => (kind.as_str(), inner.as_object()),
            None => ("", None),
        },
        _ => ("", None),
    };
    match (kind, inner.and_then(|inner| inner.iter().next())) {
        ("fact", Some((fact, _))) => fact.clone(),
        _ => kind.to_owned(),
    }
}

/// FNV-1a over the parts, with their ends.
fn hash(parts: &[&str]) -> u64 {
    fnv::hash(fnv::START, parts.iter().flat_map(|part| part.bytes().chain([0])))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::{Case, NONE};
    use rehang_scenario::{Span, load};

    #[test]
    fn what_a_hang_is_blocked_on_is_a_named_state() {
        let programs = [
            (r#"["hold"]"#, "nothing"),
            (r#"[{ every = { every = "10s", print = "a", times = 0 } }]"#, "timer"),
            (r#"["read-stdin"]"#, "stdin"),
        ];
        for (steps, on) in programs {
            let text = format!(
                "title = \"a hang\"\nmechanism = \"B5\"\nagent = {{ program = {steps} }}\nterminals = [\"pipe\"]\n"
            );
            let family = load("case.toml", text.as_bytes()).into_result().unwrap();
            let case = Case::of(family.variants[0].scenario.clone(), NONE);
            let played = case.play_as(NONE, Span::ZERO, None).unwrap();
            let mut states = BTreeSet::new();
            self::states(&played.verdict, &played.trace, &mut states);
            assert!(states.contains(&format!("ends hung on {on}")), "{states:?}");
            assert!(states.is_subset(&universe()), "{states:?}");
        }
    }
}
