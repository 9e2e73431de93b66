//! What is of interest in a case.
//!
//! Invariant: a property is a pure function of the verdicts. Its text is how a user writes it, and reads back as the
//! same property.

use crate::case::{Case, Shown};
use rehang_judge::{Outcome, Verdict};
use rehang_scenario::text::{or, suggest};
use rehang_scenario::{BlockedOn, Invariant};
use std::fmt;
use std::str::FromStr;

/// What a scenario must go on to show while it is made smaller.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Property {
    /// It hangs: `hangs`, or on this: `hangs:question`. An undecided run does not hang.
    Hangs(Option<BlockedOn>),
    /// It ends like this: `completed`, `failed`, `stopped`, or with this cause: `stopped:idle`.
    Ends(String, Option<String>),
    /// It breaks an invariant that `none` does not break here: `breaks:harm`.
    Breaks(Invariant),
    /// It hangs under `none` and comes to an end under the stack: `rescued`.
    Rescued,
}

impl Property {
    /// Whether a case shows it. A case that cannot be played shows nothing.
    pub fn shown_by(&self, case: &Case) -> bool {
        case.play().is_ok_and(|shown| self.holds(&shown))
    }

    /// Whether what was played shows it.
    pub fn holds(&self, shown: &Shown) -> bool {
        let verdict = shown.verdict();
        match self {
            Property::Hangs(on) => hangs(verdict, *on),
            Property::Ends(word, cause) => {
                verdict.outcome.word() == word
                    && match (&verdict.outcome, cause) {
                        (Outcome::Stopped { cause: is }, Some(wanted)) => is == wanted,
                        (_, Some(_)) => false,
                        (_, None) => true,
                    }
            }
            Property::Breaks(invariant) => {
                let broken = verdict.broken();
                let before = shown.under.is_some() && shown.none.verdict.broken().contains(invariant);
                broken.contains(invariant) && !before
            }
            Property::Rescued => {
                let ends = !verdict.outcome.is_hung() && !verdict.outcome.is_undecided();
                hangs(&shown.none.verdict, None) && ends
            }
        }
    }

    /// What a verdict shows first: a broken invariant, else its outcome.
    pub fn of(shown: &Shown) -> Property {
        let before = shown.none.verdict.broken();
        let news = |i: &Invariant| shown.under.is_none() || !before.contains(i);
        if let Some(invariant) = shown.verdict().broken().into_iter().find(news) {
            return Property::Breaks(invariant);
        }
        match &shown.verdict().outcome {
            Outcome::Hung { blocked_on, .. } => Property::Hangs(Some(*blocked_on)),
            Outcome::Stopped { cause } => Property::Ends("stopped".to_owned(), Some(cause.clone())),
            other => Property::Ends(other.word().to_owned(), None),
        }
    }
}

fn hangs(verdict: &Verdict, on: Option<BlockedOn>) -> bool {
    match &verdict.outcome {
        Outcome::Hung { blocked_on, .. } => on.is_none_or(|on| on == *blocked_on),
        _ => false,
    }
}

impl fmt::Display for Property {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Property::Hangs(None) => f.write_str("hangs"),
            Property::Hangs(Some(on)) => write!(f, "hangs:{on}"),
            Property::Ends(word, None) => f.write_str(word),
            Property::Ends(word, Some(cause)) => write!(f, "{word}:{cause}"),
            Property::Breaks(invariant) => write!(f, "breaks:{}", invariant.name()),
            Property::Rescued => f.write_str("rescued"),
        }
    }
}

/// A property that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is no property{}", or(near.as_deref(), &all()))]
pub struct NoProperty {
    /// What was written.
    text: String,
    /// The nearest property, with what it is about.
    near: Option<String>,
}

impl NoProperty {
    fn of(text: &str) -> NoProperty {
        let (word, rest) = text.split_once(':').map_or((text, None), |(word, rest)| (word, Some(rest)));
        let word = suggest(word, WORDS);
        let near = match (word, rest) {
            (Some("breaks"), rest) => {
                let invariant = suggest(rest.unwrap_or_default(), Invariant::ALL.map(Invariant::name));
                invariant.map(|name| format!("breaks:{name}"))
            }
            (Some("hangs"), Some(rest)) => {
                let on = suggest(rest, BlockedOn::ALL.map(BlockedOn::word));
                on.map(|on| format!("hangs:{on}"))
            }
            (Some("stopped"), Some(rest)) if !rest.is_empty() => Some(format!("stopped:{rest}")),
            (word, _) => word.map(str::to_owned),
        };
        NoProperty { text: text.to_owned(), near: near.filter(|near| near != text) }
    }
}

/// What a property begins with.
const WORDS: [&str; 6] = ["hangs", "completed", "failed", "stopped", "rescued", "breaks"];

fn all() -> String {
    let names = Invariant::ALL.map(Invariant::name).join(", ");
    let on = BlockedOn::ALL.map(BlockedOn::word).join(", ");
    format!(
        "write hangs, hangs:WHAT with one of {on}, completed, failed, stopped, stopped:CAUSE, rescued, or breaks:INVARIANT with one of {names}"
    )
}

impl FromStr for Property {
    type Err = NoProperty;

    fn from_str(text: &str) -> Result<Property, NoProperty> {
        let (word, rest) = match text.split_once(':') {
            Some((word, rest)) if !rest.is_empty() => (word, Some(rest.to_owned())),
            Some(_) => return Err(NoProperty::of(text)),
            None => (text, None),
        };
        let invariant = |name: &str| Invariant::ALL.into_iter().find(|i| i.name() == name);
        match (word, rest) {
            ("hangs", None) => Ok(Property::Hangs(None)),
            ("hangs", Some(on)) => {
                BlockedOn::of(&on).map(|on| Property::Hangs(Some(on))).ok_or_else(|| NoProperty::of(text))
            }
            ("rescued", None) => Ok(Property::Rescued),
            ("completed" | "failed", None) => Ok(Property::Ends(word.to_owned(), None)),
            ("stopped", cause) => Ok(Property::Ends(word.to_owned(), cause)),
            ("breaks", Some(name)) => invariant(&name).map(Property::Breaks).ok_or_else(|| NoProperty::of(text)),
            _ => Err(NoProperty::of(text)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_reads_back() {
        for text in ["hangs", "hangs:question", "completed", "stopped:idle", "breaks:harm", "rescued"] {
            assert_eq!(text.parse::<Property>().unwrap().to_string(), text);
        }
        for text in ["", "hung", "breaks", "breaks:nothing", "completed:x", "hangs:", "hangs:xyzzy"] {
            assert!(text.parse::<Property>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_slip_is_answered_with_the_nearest() {
        let near = |text: &str| text.parse::<Property>().expect_err(text).near;
        let slips = [
            ("hang", "hangs"),
            ("hnags:question", "hangs:question"),
            ("breaks:hamr", "breaks:harm"),
            ("braks:harm", "breaks:harm"),
            ("hangs:questoin", "hangs:question"),
            ("rescue", "rescued"),
        ];
        for (text, meant) in slips {
            assert_eq!(near(text).as_deref(), Some(meant), "{text}");
        }
        for text in ["", "xyzzy", "breaks:xyzzyplugh", "breaks"] {
            assert_eq!(near(text), None, "{text}");
        }
    }
}
