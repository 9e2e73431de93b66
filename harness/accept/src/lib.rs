//! Expectations are accepted, not typed: the `[[expect]]` rules of a scenario file for what was seen.
//!
//! Pure: a file's text and what was seen of its cells come in, the new text and what was refused go out. The way
//! through: a [`Plan`] compares each cell with its rule, refuses what no file may expect, and groups the others into
//! [`Proposal`]s; [`Plan::write`] puts those that are taken into the text.
//!
//! Invariants: a rule all of whose cells are as expected stays byte for byte. After [`Plan::write`] each accepted cell is
//! as its rule says, and every other cell has a rule that says what its rule said before: both are checked on the text
//! that is returned.

mod apply;
mod content;
pub mod diff;
mod plan;
mod rules;
mod seen;
#[cfg(test)]
mod tests;
mod text;

pub use plan::{Plan, Proposal, Ran, Refused, Result};
pub use seen::{End, Ended, Seen};

use rehang_scenario::cells::CellId;
use rehang_scenario::{Arm, Expect, Expected, Family, Problems};

/// The new text of a file, and what changed in it.
#[derive(Debug, Clone)]
pub struct Written {
    /// The new text.
    pub text: String,
    /// What became of its rules.
    pub changes: Vec<Change>,
    /// The cells that are as expected now.
    pub accepted: Vec<CellId>,
    /// The cells that no rule could be placed for.
    pub refused: Vec<Refused>,
}

/// What became of a rule.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// It is new.
    Added(Box<Expect>),
    /// It was the first and is the second.
    Changed(Box<Expect>, Box<Expect>),
    /// No cell reaches it any more.
    Removed(Box<Expect>),
}

/// Why a file cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The TOML editor would change more than the rules.
    #[error("its layout cannot be kept: write its rules by hand")]
    Layout,
    /// With its new rules the file would have errors.
    #[error("with the rules for what was seen it would be no right file:\n{0}")]
    WouldBeWrong(Box<Problems>),
    /// The new rules do not give this cell the content that it must get; the text names the cell.
    #[error("internal error: the new rules would say something else of {0} than what was seen")]
    Internal(String),
}

/// A rule for the cells that no rule of a file covers. No result meets it, so that every result is reported as seen.
pub const UNCOVERED: &str = "no rule of the file speaks of this cell";

/// Gives the cells that no rule of a file covers a rule that no result meets, so that they run.
pub fn cover(family: &mut Family) {
    for variant in &mut family.variants {
        let outcome = Expected::Hung(UNCOVERED.to_owned());
        variant.scenario.expect.push(Expect { outcome, ..Expect::completes(Arm::Main) });
    }
}
