//! Whether an agent of the Agent Client Protocol (version 1, over stdio) keeps to it when its client fails.
//!
//! A scripted client ([`client`]) starts the agent, talks to it and plays one [`Fault`]. Both run in virtual time, in one
//! tree, so that a silence is not timed out: the tracer proves that nothing can happen any more, or a day passes. Each
//! request is an [`obligation`] of one side; [`Judged`] says which were not met, since when, and what the debtor waits for.
//!
//! Invariant: the agent is called hung only with a proof, or after the whole horizon.

pub mod client;
mod fault;
mod message;
mod model;
pub mod obligation;
pub mod protocol;
mod run;
mod script;
mod verdict;

pub use client::CLIENT_ARG;
pub use fault::{CONTROL, Fault, Seen, Setup, control, faults};
pub use message::{Answer, Message};
pub use run::{Conform, ConformError, Run};
pub use script::{Ask, Expect, How, Plan, Step};
pub use verdict::{Judged, Verdict};
