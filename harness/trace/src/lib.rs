//! What happened: the ordered record of one cell, and how it is written.
//!
//! Pure. Invariant: no real pid, port, path or time is in a trace. Processes are named by role, ports by the role that
//! listens, instants are virtual. So the same cell has the same bytes on every stage, machine and load; whatever writes
//! to a trace keeps to that, and `rehang-lab determinism` and `tests/matrix.rs` check it.

pub mod digest;
pub mod event;
pub mod json;
pub mod ndjson;
pub mod role;

pub use event::{AskEnd, AskKind, Cause, Ended, Event, Fact, Horizon, Name, RunEnd, Trace, What};
pub use json::Json;
pub use ndjson::{Header, ReadError, TraceHash, read, sha256, write};
pub use role::{Actor, actor};
