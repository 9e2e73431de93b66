//! The fakes: personas that play real agents, and the tools that they start.
//!
//! Invariant: a persona is pure. It reaches the world only through [`Os`](rehang_os::Os), so it runs the same on the
//! simulated kernel, in lockstep on the real one, and alone on the wall clock.

pub mod agent_host;
#[cfg(test)]
mod bench;
pub mod claude;
pub mod codex;
pub mod gemini;
pub mod mcp;
pub mod model_server;
mod model_source;
pub mod opencode;
mod outgoing;
mod piped;
pub mod registry;
pub mod release;
pub mod silence;
pub mod stand_in;
pub mod tool;

pub use registry::{dispatch, program};
pub use release::ReleaseError;

/// One thing that a fake does as a release does it, and how that is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Behaviour {
    /// The name of the fake.
    pub agent: &'static str,
    /// The behaviour in a few words.
    pub name: &'static str,
    /// Whether it is held to a recording of the release; otherwise it is read from its source or from a report.
    pub recorded: bool,
    /// The recording, the source or the issue.
    pub source: &'static str,
}

/// All behaviours that the fakes play on purpose.
pub fn behaviours() -> Vec<Behaviour> {
    registry::PERSONAS.iter().flat_map(registry::Persona::behaviours).collect()
}
