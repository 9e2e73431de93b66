//! Why a process does not move, and guard around a process, for programs in other languages.
//!
//! A C ABI of a few functions ([`abi`], `include/rehang.h`) that take and give JSON. The answers are those of the crates
//! that a Rust program embeds: a [`Report`](rehang_evidence::Report) of `rehang-evidence`, and the steps of `rehang-strategy`.
//! `docs/embed.md` describes both, and the Python module and the Go example that use them.
//!
//! Invariants: no panic leaves a call, if this crate is built with unwinding (the profile `embedded`); all unsafe code is in
//! [`abi`]; no call waits for the process that it is asked about.

pub mod abi;
mod error;
mod guard;
mod looks;
mod options;

pub use error::Error;
pub use guard::{Answer, Guard};
pub use options::{GuardOptions, WhyOptions};

use rehang_evidence::report::VERSION;
use rehang_evidence::{Options, Pid, Report, look};
use serde_json::json;

/// Says why a process does not move. Takes as long as its window, and as long as the agents' servers do to answer.
///
/// # Errors
/// There is no such process; an option is wrong; /proc cannot be read.
pub fn why(pid: Pid, options: &WhyOptions) -> Result<Report, Error> {
    must_be_a_pid(pid)?;
    let (names, limits, window) = (options.names()?, options.limits(), options.window()?);
    let reads = Options { ask: options.ask, ..Options::default() };
    let mut look = look(&[pid], &reads, &limits, window)?;
    look.count_as_agents(&names, &limits);
    Ok(Report::of(&look, &limits))
}

/// As JSON, what a call returns: its answer, or its error.
pub fn json(answer: Result<impl serde::Serialize, Error>) -> String {
    let text =
        answer.and_then(|answer| serde_json::to_string(&answer).map_err(|error| Error::Internal(error.to_string())));
    text.unwrap_or_else(|error| {
        json!({ "v": VERSION, "error": { "kind": error.kind(), "message": error.to_string() } }).to_string()
    })
}

fn must_be_a_pid(pid: Pid) -> Result<(), Error> {
    if pid > 0 { Ok(()) } else { Err(Error::Usage(format!("{pid} is no process id"))) }
}
