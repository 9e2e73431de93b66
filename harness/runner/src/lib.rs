//! Runs cells: which there are, the worker processes that play them, and what came out.
//!
//! [`corpus`] finds and checks the scenario files, [`select`] picks cells and makes [`unit`]s of them, and [`run`] deals
//! the units out to the processes of a [`pool`]. Each of those is a [`worker`].
//!
//! Invariant: this crate prints nothing and knows no command line; what went wrong is an enum, and what goes on during a
//! run is an [`run::Event`].

pub mod binaries;
pub mod catalogue;
pub mod corpus;
pub mod outputs;
pub mod pool;
pub mod run;
pub mod select;
pub mod tree;
pub mod unit;
pub mod worker;
pub mod world;
