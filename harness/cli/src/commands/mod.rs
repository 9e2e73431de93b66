//! The commands, one file each.
//!
//! Invariant: no two commands import each other.

pub mod accept;
pub mod agents;
pub mod bench;
pub mod bisect;
pub mod check;
pub mod drift;
pub mod explore;
pub mod import;
pub mod list;
pub mod measure;
pub mod path;
pub mod reproduce;
pub mod run;
pub mod select;
pub mod show;
pub mod supervise;
pub mod torture;
pub mod tune;
pub mod upstream;
pub mod why;
pub mod wrapper;

pub use crate::error::{Code, CommandError};

/// A span on the command line: `30s`, `10m`.
///
/// # Errors
/// What is wrong with it, in words that fit behind the argument.
pub fn span(text: &str) -> Result<rehang_scenario::Span, String> {
    rehang_scenario::Span::parse(text).map_err(|error| error.to_string())
}
