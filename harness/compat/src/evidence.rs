//! How the outcome of a row is known.
//!
//! Invariant: the text of an evidence reads back as the same evidence.

use rehang_words::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// How an outcome is known. In JSON it is its text: `exited`, `horizon(24h)`, `repeats(40)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String", extend("pattern" = r"^(|exited|settled|proved|deadline|undecided|(observed|horizon)\([0-9]+(ms|s|m|h)\)|repeats\([0-9]+\))$"))]
pub enum Evidence {
    /// Nothing is known: it could not run.
    #[default]
    None,
    /// The agent's process ended.
    Exited,
    /// A server's session ended.
    Settled,
    /// On the wall clock: nothing moved for this long.
    Observed(Span),
    /// It asked its model this often beyond the script.
    Repeats(u32),
    /// On the wall clock: it was alive at the deadline.
    Deadline,
    /// In virtual time: a deadlock.
    Proved,
    /// In virtual time: it was alive after this long.
    Horizon(Span),
    /// In virtual time: neither an end nor a proof.
    Undecided,
}

impl fmt::Display for Evidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.pad(""),
            Self::Exited => f.pad("exited"),
            Self::Settled => f.pad("settled"),
            Self::Observed(window) => f.pad(&format!("observed({window})")),
            Self::Repeats(requests) => f.pad(&format!("repeats({requests})")),
            Self::Deadline => f.pad("deadline"),
            Self::Proved => f.pad("proved"),
            Self::Horizon(until) => f.pad(&format!("horizon({until})")),
            Self::Undecided => f.pad("undecided"),
        }
    }
}

impl From<Evidence> for String {
    fn from(evidence: Evidence) -> String {
        evidence.to_string()
    }
}

impl TryFrom<String> for Evidence {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let (name, argument) = match text.strip_suffix(')').and_then(|text| text.split_once('(')) {
            Some((name, argument)) => (name, Some(argument)),
            None => (text.as_str(), None),
        };
        let span = |text: &str| Span::parse(text).map_err(|error| error.to_string());
        match (name, argument) {
            ("", None) => Ok(Self::None),
            ("exited", None) => Ok(Self::Exited),
            ("settled", None) => Ok(Self::Settled),
            ("deadline", None) => Ok(Self::Deadline),
            ("proved", None) => Ok(Self::Proved),
            ("undecided", None) => Ok(Self::Undecided),
            ("observed", Some(window)) => span(window).map(Self::Observed),
            ("horizon", Some(until)) => span(until).map(Self::Horizon),
            ("repeats", Some(requests)) => {
                requests.parse().map(Self::Repeats).map_err(|_| format!("`{requests}` is not a number of requests"))
            }
            _ => Err(format!("`{text}` is not an evidence")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_evidence_reads_back() {
        let all = [
            Evidence::None,
            Evidence::Exited,
            Evidence::Settled,
            Evidence::Observed(Span::secs(10)),
            Evidence::Repeats(40),
            Evidence::Deadline,
            Evidence::Proved,
            Evidence::Horizon(Span::hours(24)),
            Evidence::Undecided,
        ];
        for evidence in all {
            assert_eq!(Evidence::try_from(evidence.to_string()), Ok(evidence));
        }
        for text in ["horizon", "horizon()", "horizon(1)", "proved(1s)", "repeats(x)", "seen"] {
            assert!(Evidence::try_from(text.to_owned()).is_err(), "{text}");
        }
    }
}
