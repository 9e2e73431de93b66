//! Why a process tree on this machine does not move: what the kernel says of it, and what that means.
//!
//! Two layers. [`take`] reads a tree from /proc, the kernel's socket tables and the agent's own records into a
//! [`Snapshot`], which is plain data and holds no judgement. [`diagnose`] is a pure function of two snapshots: one
//! sentence, what would end it, how sure that is, and the evidence. [`look`] does both, [`Glance`] too, for a program with
//! an event loop; [`graph`] gives the wait-for graph as data, and a
//! [`Report`] says who is to act next. `docs/library.md` has a few lines to begin with.
//!
//! Invariant: nothing here changes what it looks at. No tracing and no signal; to read the time limits of a socket, its
//! descriptor is copied for a moment and nothing is done through it;
//! a server is asked by GET requests only, and only if the caller allows it.

pub mod data;
pub mod diagnosis;
mod heard;
pub mod kind;
mod look;
mod named;
mod read;
pub mod report;
mod shells;
mod tools;

pub use data::{Pid, Snapshot};
pub use diagnosis::graph::{Graph, graph};
pub use diagnosis::{Diagnosis, Evidence, Limits, Sure, Verdict, diagnose, diagnose_only, whole_tree};
pub use heard::{ACP, APP_SERVER, Heard};
pub use look::{Glance, Look, Subject, look, look_together, watch};
pub use named::{AgentNameError, AgentNames};
pub use read::{
    CONTROL_ENV, Options, SnapshotError, TracedProcess, TracedThread, VirtualTime, agents, find, is_of_kernel, take,
};
pub use report::Report;
