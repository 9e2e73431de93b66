//! What a rule says of a cell, without its list of cells: written anew, or as an amended old rule.
//!
//! Invariant: in an old rule only the keys that do not fit change, unless its outcome changes.

use crate::seen::Seen;
use rehang_judge::MismatchIn;
use rehang_scenario::{Arm, Expect, Expected, Policy, Span};

/// The most characters that a new rule cites of a text that the model was told.
const TOLD_CHARS: usize = 100;
/// Ends that lie no further apart than one part in this many share a `within`.
const CLOSE: u64 = 20;

/// A rule without its list of cells. Two rules say the same if these are equal.
pub(crate) fn content(rule: &Expect) -> Expect {
    let mut content = Expect { strategies: Vec::new(), terminals: Vec::new(), seeds: Vec::new(), ..rule.clone() };
    content.breaks.sort();
    content
}

/// The content of a rule that a person would write for such a cell.
pub(crate) fn fresh(stack: &str, arm: Arm, seen: &Seen) -> Expect {
    let rule = Expect::completes(arm);
    let as_none = Expect { outcome: Expected::AsNone, ..rule.clone() };
    if stack != "none" && seen.misses(&as_none).is_empty() {
        return as_none;
    }
    let outcome = seen.end.outcome.expected();
    let proof = seen.end.outcome.proof().filter(|_| stack == "none");
    // where `none` hangs and this one does not, a strategy or a person has ended the hang
    let ends = stack != "none" && seen.end.outcome.is_end() && !seen.none.outcome.is_end();
    let within = ends.then(|| rounded(seen.ended.since(rehang_scenario::VTime::ZERO)));
    let policy = if ends { claims(seen, &outcome) } else { None };
    let answers = policy.as_ref().is_some_and(|policy| policy.answered.is_some());
    let told = if answers { told(seen) } else { Vec::new() };
    Expect { outcome, proof, within, breaks: seen.end.broken.clone(), policy, told, ..rule }
}

/// An old rule's content, changed where it does not fit. `explicit`: the rule covers `none` too, so that it cannot say
/// "as none".
pub(crate) fn amended(old: &Expect, stack: &str, seen: &Seen, explicit: bool) -> Expect {
    let misses: Vec<MismatchIn> = seen.misses(old).into_iter().map(|miss| miss.what).collect();
    let missed = |what| misses.contains(&what);
    let mut new = content(old);
    if missed(MismatchIn::Outcome) || missed(MismatchIn::UnexpectedHang) {
        new = fresh(stack, old.arm, seen);
        if new.outcome == Expected::AsNone && explicit {
            new = Expect { outcome: seen.end.outcome.expected(), breaks: seen.end.broken.clone(), ..new };
        }
        if old.outcome == Expected::AsNone {
            return new;
        }
        new.proof = seen.end.outcome.proof().filter(|_| old.proof.is_some() && new.outcome != Expected::AsNone);
        // the author of the rule chose what it asks of an end: the same keys are asked now, and no others
        let ended = seen.ended.since(rehang_scenario::VTime::ZERO);
        let is_end = seen.end.outcome.is_end();
        let was_end = !matches!(old.outcome, Expected::Hung(_) | Expected::Undecided);
        new.within = match old.within {
            // a limit that was close to another end says nothing of this one
            Some(within) if ended <= within && are_close(ended, within) => Some(within).filter(|_| is_end),
            Some(_) => is_end.then(|| rounded(ended)),
            None => new.within.filter(|_| !was_end),
        };
        new.not_before = old.not_before.filter(|not_before| is_end && *not_before <= ended);
        new.policy = new.policy.filter(|_| old.policy.is_some());
        if old.told.is_empty() {
            new.told.clear();
        }
        new.gets = if old.gets.is_empty() { Vec::new() } else { seen.gets.clone() };
        return new;
    }
    if missed(MismatchIn::Proof) {
        new.proof = seen.end.outcome.proof();
    }
    if missed(MismatchIn::Time) {
        let ended = seen.ended.since(rehang_scenario::VTime::ZERO);
        new.within = old.within.map(|within| if ended > within { rounded(ended) } else { within });
        new.not_before = old.not_before.map(|not_before| not_before.min(ended));
    }
    if missed(MismatchIn::Breaks) {
        new.breaks = seen.end.broken.clone();
        if new.outcome == Expected::AsNone && new.breaks.is_empty() {
            // "as none" without `breaks` would mean those of `none`
            new.outcome = seen.end.outcome.expected();
        }
    }
    if let Some(policy) = new.policy.as_mut().filter(|_| missed(MismatchIn::Policy)) {
        reclaimed(policy, seen);
        new.policy = new.policy.filter(|policy| *policy != Policy::default());
    }
    if missed(MismatchIn::Told) {
        new.told.retain(|text| seen.told.iter().any(|told| told.contains(text.as_str())));
        if new.told.is_empty() {
            new.told = told(seen);
        }
    }
    if missed(MismatchIn::Says) {
        new.says = said(seen, &old.says);
    }
    if missed(MismatchIn::Gets) {
        new.gets = seen.gets.clone();
    }
    new
}

/// Whether two contents are one rule: equal, apart from ends that are close; then `a` gets the later end. Of placements
/// of one strategy only those texts count that both tell the model; in a rule that has a `within` for all of its cells
/// any ends are close.
pub(crate) fn joined(a: &mut Expect, b: &Expect, placements: bool, shared: bool) -> bool {
    let close = match (a.within, b.within) {
        (Some(_), Some(_)) if shared => true,
        (Some(a), Some(b)) => are_close(a, b),
        (a, b) => a == b,
    };
    let within = a.within.max(b.within);
    let told: Vec<String> = match placements {
        true => a.told.iter().filter(|text| b.told.contains(text)).cloned().collect(),
        false => a.told.clone(),
    };
    let b_told = if placements { &told } else { &b.told };
    let joined = Expect { within, told: told.clone(), ..a.clone() };
    let same = close && joined == Expect { within, told: b_told.clone(), ..b.clone() };
    if same {
        *a = joined;
    }
    same
}

fn are_close(a: Span, b: Span) -> bool {
    let (less, more) = (a.min(b).as_ms(), a.max(b).as_ms());
    more <= 1_000 || more - less <= less / CLOSE
}

/// Rounded up to whole seconds; below a second, to whole milliseconds, as it is.
fn rounded(span: Span) -> Span {
    match span.as_ms() {
        ms if ms < 1_000 => span,
        ms => Span::ms(ms.div_ceil(1_000) * 1_000),
    }
}

/// What the last to report claims, in what a rule of a person asks for: why it acted, what it answered, by which rule.
fn claims(seen: &Seen, outcome: &Expected) -> Option<Policy> {
    let (who, _) = seen.reports.last()?;
    let mut all = Policy::default();
    for policy in seen.reports.iter().filter(|(by, _)| by == who).map(|(_, policy)| policy.clone()) {
        all.detected = policy.detected.or(all.detected);
        all.answered = policy.answered.or(all.answered);
        all.rule = policy.rule.or(all.rule);
        all.cause = policy.cause.or(all.cause);
    }
    if let Expected::Stopped(cause) = outcome {
        // the outcome says it already
        all.cause = all.cause.filter(|own| own != cause);
        all.detected = all.detected.filter(|own| own != cause);
    }
    Some(all).filter(|all| *all != Policy::default())
}

/// Replaces the claims that are no longer made by those that are made now.
fn reclaimed(policy: &mut Policy, seen: &Seen) {
    let Some((who, _)) = seen.reports.last() else {
        *policy = Policy::default();
        return;
    };
    let said: Vec<&Policy> = seen.reports.iter().filter(|(by, _)| by == who).map(|(_, policy)| policy).collect();
    fn last<T: Clone + PartialEq>(old: &mut Option<T>, said: Vec<&T>) {
        if old.as_ref().is_some_and(|old| !said.contains(&old)) {
            *old = said.last().map(|&last| last.clone());
        }
    }
    last(&mut policy.detected, said.iter().filter_map(|p| p.detected.as_ref()).collect());
    last(&mut policy.answered, said.iter().filter_map(|p| p.answered.as_ref()).collect());
    last(&mut policy.rule, said.iter().filter_map(|p| p.rule.as_ref()).collect());
    last(&mut policy.cause, said.iter().filter_map(|p| p.cause.as_ref()).collect());
    let texts: Vec<&String> = said.iter().filter_map(|p| p.text.as_ref()).collect();
    if policy.text.as_ref().is_some_and(|old| !texts.iter().any(|text| text.contains(old.as_str()))) {
        policy.text = texts.last().map(|text| begin(text));
    }
    policy.constants = std::mem::take(&mut policy.constants)
        .into_iter()
        .filter_map(|(name, old)| {
            let values: Vec<u64> = said.iter().filter_map(|p| p.constants.get(&name).copied()).collect();
            let value = if values.contains(&old) { Some(old) } else { values.last().copied() };
            value.map(|value| (name, value))
        })
        .collect();
}

/// What the model was told, and is not told under `none`.
fn told(seen: &Seen) -> Vec<String> {
    let new = seen.told.iter().filter(|text| !seen.none_told.contains(text) && !text.trim().is_empty());
    let mut texts: Vec<String> = new.map(|text| begin(text)).collect();
    texts.dedup();
    texts
}

/// Those of the texts that are still said, in order; if none is, the last text that is said.
fn said(seen: &Seen, old: &[String]) -> Vec<String> {
    let mut rest = seen.said.as_slice();
    let mut kept = Vec::new();
    for text in old {
        if let Some(at) = rest.iter().position(|said| said.contains(text.as_str())) {
            kept.push(text.clone());
            rest = &rest[at..];
        }
    }
    if kept.is_empty() {
        kept.extend(seen.said.last().map(|text| begin(text)));
    }
    kept
}

/// The first words of a text's first line, few enough that a rule stays readable.
fn begin(text: &str) -> String {
    let line = text.trim_start().lines().next().unwrap_or_default();
    let Some((end, _)) = line.char_indices().nth(TOLD_CHARS) else { return line.to_owned() };
    line[..line[..end].rfind(' ').unwrap_or(end)].to_owned()
}
