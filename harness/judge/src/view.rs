//! All that an invariant looks at.
//!
//! Invariant: borrowed whole; nothing is read or judged here.

use crate::cell::CellFacts;
use crate::index::Index;
use crate::verdict::Verdict;
use rehang_trace::Trace;

/// All that an invariant looks at.
#[derive(Debug, Clone, Copy)]
pub struct View<'a> {
    /// The trace.
    pub trace: &'a Trace,
    /// What is known of the cell beside it.
    pub facts: &'a CellFacts,
    /// The trace by name.
    pub index: &'a Index<'a>,
    /// Its verdict, without breaches.
    pub verdict: &'a Verdict,
    /// The verdict of the same cell under `none`; `None` if this is that cell.
    pub baseline: Option<&'a Verdict>,
}
