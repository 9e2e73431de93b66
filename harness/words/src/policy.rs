//! A policy report: what a strategy says that it saw and did.
//!
//! Invariant: a report holds claims. The judge decides whether they are true.

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a strategy says of itself; in an expectation, the claims that the trace must contain.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Policy {
    /// The signal that it acted on: `no-tty`, `env`, `idle`, `no-children`, `error-block`, …
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detected: Option<String>,
    /// The answers that it gave, a list for each question; an empty list is "unanswered".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answered: Option<Vec<Vec<String>>>,
    /// The rule that chose: `keyword: profile only`, `last`, `label`, `unanswered`, …
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// The cause that it gives for an end: `idle`, `wall`, `bash-stuck`, …
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
    /// The text that it prints or hands to the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The constants that it says it runs with, in the units of their names (`idle_ms`, `misses`).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub constants: BTreeMap<String, u64>,
}
