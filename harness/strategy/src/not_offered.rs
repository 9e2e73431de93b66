//! The question tool is withheld from the model, or refused.

use crate::Entry;

/// All of them.
pub const ENTRIES: &[Entry] = &[];
