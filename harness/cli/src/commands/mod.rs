//! The commands, one file each.
//!
//! Invariant: no two commands import each other.

pub mod accept;
pub mod agents;
pub mod bisect;
pub mod check;
mod clock;
pub mod conform;
pub mod explain;
pub mod explore;
pub mod import;
pub mod list;
mod mechanisms;
pub mod merge;
pub mod new;
pub mod orders;
pub mod path;
pub mod report;
pub mod report_upstream;
pub mod reproduce;
pub mod run;
pub mod score;
pub mod select;
pub mod show;
pub mod supervise;
pub mod tune;
pub mod upstream;
pub mod warp;
pub mod why;
pub mod wrapper;

pub use crate::error::{Code, CommandError};
use rehang_scenario::Terminal;
use rehang_scenario::text::one_of;

/// A terminal by its name.
///
/// # Errors
/// There is none of this name; with the nearest, and all that there are.
pub fn terminal(word: &str) -> Result<Terminal, String> {
    let all = Terminal::ALL.into_iter();
    all.clone().find(|t| t.name() == word).ok_or_else(|| one_of(word, all.map(Terminal::name)))
}

/// The values of `--agent`.
///
/// # Errors
/// One of them is no name; there are too many.
pub fn agent_names(names: &[String]) -> Result<rehang_evidence::AgentNames, CommandError> {
    rehang_evidence::AgentNames::new(names).map_err(|error| CommandError::Usage(format!("--agent: {error}")))
}

/// A span on the command line: `30s`, `10m`.
///
/// # Errors
/// What is wrong with it, in words that fit after the argument.
pub fn span(text: &str) -> Result<rehang_scenario::Span, String> {
    rehang_scenario::Span::parse(text).map_err(|error| error.to_string())
}
