//! Looks twice, with a window between, and says what it means; again and again where asked.
//!
//! Invariant: the window is all that is ever waited for.

use crate::data::{Pid, Snapshot};
use crate::diagnosis::{Diagnosis, Limits, diagnose};
use crate::read::{Options, SnapshotError, take};
use std::ops::ControlFlow;
use std::time::Duration;

/// Two snapshots of process trees, and what they mean.
#[derive(Debug, Clone)]
pub struct Look {
    /// The first one.
    pub before: Snapshot,
    /// The second one, a window later.
    pub after: Snapshot,
    /// What they mean.
    pub diagnosis: Diagnosis,
}

/// Looks twice, `window` apart.
///
/// # Errors
/// None of the roots exists, before or after the window.
pub fn look(roots: &[Pid], options: &Options, limits: &Limits, window: Duration) -> Result<Look, SnapshotError> {
    // an agent is asked once, at the end
    let before = take(roots, &Options { ask: false })?;
    std::thread::sleep(window);
    again(before, roots, options, limits)
}

/// Looks every `window` until `see` has seen enough or the processes are gone.
///
/// # Errors
/// None of the roots exists at the start.
pub fn watch(
    roots: &[Pid],
    options: &Options,
    limits: &Limits,
    window: Duration,
    mut see: impl FnMut(&Look) -> ControlFlow<()>,
) -> Result<(), SnapshotError> {
    let mut before = take(roots, &Options { ask: false })?;
    loop {
        std::thread::sleep(window);
        let look = match again(before, roots, options, limits) {
            Ok(look) => look,
            Err(SnapshotError::NoProcess(_)) => return Ok(()),
            Err(error) => return Err(error),
        };
        if see(&look).is_break() {
            return Ok(());
        }
        before = look.after;
    }
}

fn again(before: Snapshot, roots: &[Pid], options: &Options, limits: &Limits) -> Result<Look, SnapshotError> {
    let after = take(roots, options)?;
    let diagnosis = diagnose(&before, &after, limits);
    Ok(Look { before, after, diagnosis })
}
