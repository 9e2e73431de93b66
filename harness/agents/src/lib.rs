//! Real agents as data: where a release comes from, how it is installed, run and read.
//!
//! Invariant: this crate knows no agent by name. What is particular to one is in its file.

mod check;
pub mod install;
pub mod lock;
pub mod model;
pub mod recipe;
pub mod registry;
pub mod tool;

pub use install::{Installed, Progress, Quiet, Store, StoreError, refuse_foreign};
pub use model::{Call, Dialect, Feature, Means, Sign, Source, Start, ToolShape, Wish};
pub use recipe::{Agent, AgentsError, CannotRun, Recipe, Words};
pub use registry::{NotThere, Wanted};
pub use rehang_scenario::Form;
pub use semver::Version;

/// The JSON Schema of agents' files.
pub fn schema() -> serde_json::Value {
    schemars::schema_for!(model::File).to_value()
}
