//! Hooks: the user's own commands of `--settings`, and the callbacks that a host names when it initializes.
//!
//! [`settings`] reads them, [`run`] is a command's process, [`verdict`] is what an output means, [`gate`] is where the
//! engine waits for them. Invariant: a hook that is over its limit decides nothing, and what waited for it goes on.

mod behaviours;
mod gate;
mod run;
mod settings;
pub(super) mod texts;
mod verdict;

pub(super) use behaviours::BEHAVIOURS;
pub(super) use gate::{Gate, Hooks};
pub(super) use run::HookRun;
pub use settings::Command;
pub(super) use settings::{named_by_host, of_files, of_settings};
pub use verdict::HookEnd;
pub(super) use verdict::Reason;
