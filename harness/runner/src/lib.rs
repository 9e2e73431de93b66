//! Runs cells: which there are, the worker processes that play them, and what came out.
//!
//! [`corpus`] finds and checks the scenario files, [`select`] picks cells and makes [`unit`]s of them, and [`run`]
//! hands the units to the processes of a [`pool`]. Each of those is a [`worker`].
//! [`rows`] is a run as NDJSON, and [`merge`] makes one run of several.
//!
//! Invariant: nothing here reads arguments or writes to a user. What went wrong is an enum, and what happens during a run
//! is a [`run::Event`].

pub mod binaries;
pub mod catalogue;
pub mod corpus;
pub mod kernel;
pub mod meant;
pub mod merge;
pub mod orders;
pub mod outputs;
pub mod pool;
pub mod rows;
pub mod run;
pub mod select;
pub mod torture;
pub mod unit;
pub mod worker;
