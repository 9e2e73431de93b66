//! A question that an agent asks, with its options.

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A question with its options.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Question {
    /// The question.
    pub question: String,
    /// A short head for it.
    #[serde(default)]
    pub header: String,
    /// The options.
    #[serde(default)]
    pub options: Vec<Choice>,
    /// More than one may be chosen.
    #[serde(default)]
    pub multiple: bool,
    /// Whether an own answer may be given; `true` by default.
    #[serde(default)]
    pub custom: Option<bool>,
}

/// An option of a question.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Choice {
    /// What it is called.
    pub label: String,
    /// What it means.
    #[serde(default)]
    pub description: String,
}
