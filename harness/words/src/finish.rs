//! Why a response of a model ends.

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Why a model response ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Finish {
    /// It is done.
    Stop,
    /// It called tools.
    ToolCalls,
    /// It gave no reason that is known.
    Unknown,
    /// The stream ended without one.
    None,
}
