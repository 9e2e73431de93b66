//! The opencode companion's strategies: watcher, heal, monitor.

use crate::Entry;

/// All of the companion's strategies.
pub const ENTRIES: &[Entry] = &[];
