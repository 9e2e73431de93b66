//! Real releases: which cells there are, their results, and how these compare with earlier ones.
//!
//! Invariant: a row says only what was seen in its own cell, with the day and the command that shows it again. What
//! could not run has a reason and no outcome.

pub mod agents;
pub mod baseline;
pub mod bisect;
pub mod day;
pub mod error;
pub mod memory;
pub mod plan;
pub mod record;
pub mod results;
pub mod row;
pub mod runner;
pub mod table;
