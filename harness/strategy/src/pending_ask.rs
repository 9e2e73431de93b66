//! Ours: open asks of the whole session tree, ended by an explicit policy.

use crate::Entry;

/// All of them.
pub const ENTRIES: &[Entry] = &[];
