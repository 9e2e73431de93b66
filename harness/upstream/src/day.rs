//! The day on which something was seen.
//!
//! Invariant: UTC, as `YYYY-MM-DD`; the only clock that a row shows.

use std::time::{SystemTime, UNIX_EPOCH};

/// Today.
pub fn today() -> String {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    rehang_scenario::time::date(seconds / 86_400)
}
