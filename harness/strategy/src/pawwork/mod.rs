//! PawWork's strategies: the blocker ledger, the recovery clock, external results.

use crate::Entry;

/// All of PawWork's strategies.
pub const ENTRIES: &[Entry] = &[];
