//! little-loops' idle timeout.

use crate::Entry;

/// All of them.
pub const ENTRIES: &[Entry] = &[];
