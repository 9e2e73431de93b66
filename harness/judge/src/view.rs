//! Everything that an invariant looks at.
//!
//! Invariant: everything is borrowed; nothing is read or judged here.

use crate::cell::CellFacts;
use crate::index::Index;
use crate::verdict::Verdict;
use rehang_trace::Trace;

/// Everything that an invariant looks at.
#[derive(Debug, Clone, Copy)]
pub struct View<'a> {
    /// The trace of the cell.
    pub trace: &'a Trace,
    /// What is known of the cell besides its trace.
    pub facts: &'a CellFacts,
    /// The contents of the trace, by name.
    pub index: &'a Index<'a>,
    /// The cell's verdict, without breaches.
    pub verdict: &'a Verdict,
    /// The verdict of the same cell under `none`; `None` if this is that cell.
    pub baseline: Option<&'a Verdict>,
}
