//! Searching for hangs and making them small.
//!
//! [`Case`] is a scenario under one stack, played on the simulated kernel. [`Property`] says what is of interest in it,
//! [`shrink()`] makes it small, [`Explorer`] looks for new ones, [`SideBySide`] runs several of them. [`torture`] plays
//! scenarios that are made to break the stages' claims.
//!
//! Invariant: everything here is a function of its inputs and a seed. The wall clock says when to stop, never what
//! is found.

pub mod case;
pub mod cover;
pub mod explore;
pub mod file;
pub mod finding;
pub mod known;
pub mod limits;
pub mod mechanism;
pub mod mutate;
pub mod observed;
pub mod orders;
pub mod property;
pub mod shrink;
pub mod side_by_side;
pub mod torture;

pub use case::{Case, CaseError, Shown};
pub use explore::Explorer;
pub use finding::Finding;
pub use property::Property;
pub use shrink::{Limits, Shrunk, shrink};
pub use side_by_side::SideBySide;
