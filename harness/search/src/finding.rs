//! What a search found: for each cause, the smallest case that shows it.
//!
//! Invariant: the cause is what the judge says, without names, numbers and texts of the run; so two runs that break an
//! invariant for the same reason are one finding.

use crate::case::{Case, NONE, Shown};
use crate::mechanism;
use crate::property::Property;
use crate::shrink::{Limits, shrink};
use rehang_judge::Outcome;
use rehang_scenario::{BlockedOn, Invariant, Span};
use std::collections::BTreeSet;

/// The most plays for one finding.
const SHRINK_PLAYS: usize = 1_500;
/// The most events of all plays for one finding: a server that is polled for hours has thousands in each.
const SHRINK_EVENTS: usize = 50_000;

/// What makes two findings one: which strategy, in whatever version, breaks or misses what, and why.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// The stack's strategies without versions and parameters.
    pub family: String,
    /// What it breaks, or on what a run still hangs.
    pub property: Property,
    /// Why, as [`cause`] says it; of a hang that is missed, what it is blocked on says it.
    pub cause: String,
}

/// Something that breaks an invariant.
#[derive(Debug, Clone)]
pub struct Finding {
    /// The smallest case that shows it.
    pub case: Case,
    /// What it shows.
    pub property: Property,
    /// One sentence: who, what, why.
    pub why: String,
    /// All stacks that showed it.
    pub stacks: BTreeSet<String>,
    /// At which step it was found first.
    pub step: u64,
    /// How often it was met.
    pub met: u64,
    /// How large the case's file is, in bytes.
    pub size: usize,
}

impl Key {
    /// The key of what a stack breaks for this cause.
    pub fn new(stack: &str, invariant: Invariant, cause: String) -> Key {
        Key::of(stack, Property::Breaks(invariant), cause)
    }

    /// The key of a hang that a stack misses.
    pub fn missed(stack: &str, on: BlockedOn) -> Key {
        Key::of(stack, Property::Hangs(Some(on)), String::new())
    }

    fn of(stack: &str, property: Property, cause: String) -> Key {
        let name = |member: &str| member.split(['@', '(']).next().unwrap_or_default().to_owned();
        let family = stack.split('+').map(name).collect::<Vec<_>>().join("+");
        Key { family, property, cause }
    }

    /// Whether a case shows it.
    pub fn shown_by(&self, case: &Case) -> bool {
        case.play().is_ok_and(|shown| self.why(case, &shown).is_some())
    }

    /// What the judge says of it, if what was played shows it.
    fn why(&self, case: &Case, shown: &Shown) -> Option<String> {
        if !self.property.holds(shown) {
            return None;
        }
        let Property::Breaks(invariant) = self.property else { return missed(&case.stack, shown).map(|(_, why)| why) };
        let same = |breach: &&rehang_judge::Breach| {
            breach.invariant == invariant && cause(&breach.why, &case.stack) == self.cause
        };
        shown.verdict().breaches.iter().find(same).map(|breach| breach.why.clone())
    }
}

/// What a run still hangs on under a stack that misses its hang, and a sentence about it.
pub fn missed(stack: &str, shown: &Shown) -> Option<(BlockedOn, String)> {
    let on = |verdict: &rehang_judge::Verdict| match &verdict.outcome {
        Outcome::Hung { blocked_on, .. } => Some(*blocked_on),
        _ => None,
    };
    let (before, after) = (on(&shown.none.verdict)?, on(&shown.under.as_ref()?.verdict)?);
    let why = match before == after {
        true => format!("it hangs on {before} without {stack} and with it"),
        false => format!("without {stack} it hangs on {before}, with it on {after}"),
    };
    Some((after, why))
}

impl Finding {
    /// Merges another finding of the same key: the smaller case stays.
    pub fn join(&mut self, other: Finding) {
        self.met += other.met;
        self.stacks.extend(other.stacks);
        self.step = self.step.min(other.step);
        if other.size < self.size {
            (self.case, self.why, self.size) = (other.case, other.why, other.size);
        }
    }

    /// Makes its case small, and names its mechanism. The bound of a strategy starts from a healthy run, which a case
    /// alone does not know: a case about that bound stays as it is.
    pub fn shrink(&mut self, key: &Key) {
        let limits = Limits { plays: SHRINK_PLAYS, ..Limits::default() };
        let mut events = 0;
        let mut shows = |case: &Case| {
            let Some(shown) = (events < SHRINK_EVENTS).then(|| case.play().ok()).flatten() else { return false };
            let under = shown.under.as_ref().map_or(0, |under| under.trace.events.len());
            events += shown.none.trace.events.len() + under;
            key.why(case, &shown).is_some()
        };
        let small = shrink(&self.case, limits, &mut shows).case;
        if let Some(why) = small.play().ok().and_then(|shown| key.why(&small, &shown)) {
            self.size = small.size();
            (self.case, self.why) = (small, why);
        }
        if let Ok(none) = self.case.play_as(NONE, Span::ZERO, None) {
            let id = mechanism::of(&self.case.scenario, &none.verdict, &none.trace);
            id.clone_into(&mut self.case.scenario.mechanism);
        }
    }

    /// Whether another shows the same by the same scenario.
    pub fn is_same(&self, other: &Finding) -> bool {
        self.property == other.property && self.case.scenario == other.case.scenario
    }
}

/// What a judge's sentence says without the names, numbers and texts of a run.
pub fn cause(why: &str, stack: &str) -> String {
    // how two transcripts differ, and what an agent says of its failure, differs in every run
    let of_the_run = ["completes otherwise", "it is failed"];
    let cut = of_the_run.iter().find_map(|until| why.find(until).map(|at| at + until.len()));
    let mut plain = why[..cut.unwrap_or(why.len())].replace(" (deadlock)", "").replace(" (lasso)", "");
    for (open, close) in [('"', '"'), ('[', ']')] {
        // from the first to the last: a quoted text may contain quotes
        if let (Some(from), Some(to)) = (plain.find(open), plain.rfind(close))
            && from < to
        {
            plain.replace_range(from..=to, "…");
        }
    }
    for member in stack.split('+').chain([stack]) {
        plain = plain.replace(member, "it");
    }
    let mut words = Vec::new();
    for word in plain.split_whitespace() {
        let is_of_a_run = word.contains('`') || word.contains(|c: char| c.is_ascii_digit());
        words.push(if is_of_a_run { "#" } else { word });
    }
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_has_no_names_and_numbers() {
        let says = |why: &str| cause(why, "idle@f54b32f");
        assert_eq!(
            says("without idle@f54b32f it completes, with it it is stopped by idle"),
            "without it it completes, with it it is stopped by idle"
        );
        assert_eq!(
            says("idle@f54b32f bounds the run to 3601s, and it ends 1ms later"),
            "it bounds the run to # and it ends # later"
        );
        assert_eq!(
            says("`que_1` of agent is rejected by agent, and its only cause is silence"),
            "# of agent is rejected by agent, and its only cause is silence"
        );
        assert_eq!(
            says("with idle@f54b32f it completes otherwise: instead of question's result \"a\" there is another"),
            "with it it completes otherwise"
        );
        assert_eq!(says("passes \"a \"b\"\" off as \"c\" of the user"), "passes … of the user");
        assert_eq!(says("and it is hung on exit (deadlock)"), says("and it is hung on exit (lasso)"));
        assert_eq!(says("answers [[\"A\"]] (call `call_1`)"), "answers … (call #");
    }

    #[test]
    fn versions_and_placements_are_one_family() {
        let key = |stack: &str| Key::new(stack, Invariant::Harm, String::new()).family;
        assert_eq!(key("auto-answer@r1(at=tool)+watcher@pr5"), "auto-answer+watcher");
    }

    #[test]
    fn a_hang_that_nothing_ends_is_missed_and_one_that_is_ended_is_not() {
        let text = "title = \"a hang\"\nmechanism = \"B5\"\nagent = { program = [\"hold\"] }\nterminals = [\"null\"]\n";
        let family = rehang_scenario::load("case.toml", text.as_bytes()).into_result().unwrap();
        let shown = |stack| Case::of(family.variants[0].scenario.clone(), stack).play().unwrap();
        let (on, why) = missed("wall(cap=0ms)", &shown("wall(cap=0ms)")).unwrap();
        assert_eq!(why, "it hangs on nothing without wall(cap=0ms) and with it");
        let key = Key::missed("wall(cap=0ms)", on);
        assert!(key.shown_by(&Case::of(family.variants[0].scenario.clone(), "wall(cap=0ms)")));
        assert!(!key.shown_by(&Case::of(family.variants[0].scenario.clone(), "guard")));
        assert!(missed("guard", &shown("guard")).is_none());
    }
}
