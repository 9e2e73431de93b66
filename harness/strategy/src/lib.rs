//! What decides: every detector and resolver, as a state machine without I/O.
//!
//! A strategy is told what is seen and says what it does: `on(now, seen) -> acts`, and when it wants to be told that
//! time has passed: `deadline()`. The very same machine can run in production: [`ProcessHost`] is the entry for a
//! program that runs an agent, `docs/library.md` explains it, `examples/wrapper.rs` is a wrapper to copy.
//!
//! Invariants: no clock, no process, no descriptor; the same sequence of observations gives the same acts;
//! a strategy's defects are those of the version that it is named after.

pub mod auto_answer;
pub mod auto_approve;
pub mod blind_timeout;
mod canon;
pub mod catalogue;
pub mod cli_manager;
pub mod companion;
pub mod entry;
pub mod guard;
pub mod host;
pub mod idle;
pub mod inside;
mod lines;
pub mod matrix;
pub mod none;
pub mod not_offered;
pub mod pawwork;
pub mod pending_ask;
pub mod process;
pub mod process_host;
pub mod protocol;
pub mod spec;
pub mod stack;
pub mod wall;

pub use catalogue::{SeatError, all, fits, named};
pub use entry::{Entry, Named, Param, Params, Seat, Wire};
pub use host::{Acting, Host};
pub use inside::{Ask, InsideAct, InsideSeen, Then};
pub use matrix::{matrix, stacks};
pub use process::{ProcessAct, ProcessSeen, Settled, Stream, Whom};
pub use process_host::{ProcessHost, StackError, Step};
pub use protocol::{ProtocolAct, ProtocolSeen};
pub use rehang_words::{Policy, Span, Terminal, VTime};
pub use spec::{Spec, SpecError};
pub use stack::{Member, Stack, member, stack};

use rehang_evidence::Pid;
use rehang_words::Canon;
use std::hash::{Hash, Hasher};

/// A detector together with a resolver.
pub trait Strategy: Send {
    /// Takes what is seen, and adds what is to be done to `acts`.
    fn on(&mut self, now: VTime, seen: &Seen, acts: &mut Vec<Act>);
    /// When it wants [`Seen::Tick`]; a deadline that has passed is due at once.
    fn deadline(&self) -> Option<VTime>;
    /// The latest end that its own constants allow in such a cell, from the start of the run (of the first run, if it
    /// [outlives](Strategy::outlives_run) them); `None` if it bounds nothing.
    fn bound(&self, facts: &Facts) -> Option<Span>;
    /// Writes all of the state that a later observation can read.
    fn canon(&self, canon: &mut Canon);
    /// What it will do to the run first, if nothing changes before then; `None` if it will do nothing, or announces
    /// nothing. It is there for the program that runs it to report; nothing may depend on it.
    fn intent(&self) -> Option<Intent> {
        None
    }
    /// Whether it sends the prompt itself (the companion's `sendPrompt`); the baseline client then does not.
    fn sends_prompt(&self) -> bool {
        false
    }
    /// Whether it is outside the caller's loop: it goes on over all of the loop's runs, and ends all of them at once.
    fn outlives_run(&self) -> bool {
        false
    }
    /// Whether what people write to the agent's stdin goes through it: it gets [`ProtocolSeen::Typed`], and nothing is written.
    fn relays(&self) -> bool {
        false
    }
    /// Whether it listens to the server's event stream.
    fn wants_events(&self) -> bool {
        false
    }
}

/// What a bound depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Facts {
    /// The longest that a healthy run of this scenario takes (the control arm's end).
    pub healthy: Span,
    /// How many asks the scenario's turns hold.
    pub asks: u32,
    /// How many responses of the model they hold.
    pub responses: u32,
    /// How many bash calls they hold.
    pub bashes: u32,
}

/// What a strategy sees.
#[derive(Debug, Clone, PartialEq)]
pub enum Seen {
    /// The deadline that it asked for has come.
    Tick,
    /// Around the process.
    Process(ProcessSeen),
    /// In the agent's own protocol.
    Protocol(ProtocolSeen),
    /// Within the agent.
    Inside(InsideSeen),
}

/// One thing that a strategy does.
#[derive(Debug, Clone, PartialEq)]
pub enum Act {
    /// Reports what it saw and did.
    Report(Policy),
    /// Says something to its user.
    Say(String),
    /// To the process.
    Process(ProcessAct),
    /// In the agent's own protocol.
    Protocol(ProtocolAct),
    /// Within the agent.
    Inside(InsideAct),
}

impl Hash for Act {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        // few, and none while its strategy rests
        format!("{self:?}").hash(hasher);
    }
}

/// What a strategy will do to a run, and when, if nothing changes before then.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Intent {
    /// The act that it will do.
    pub does: Intended,
    /// The cause, as its report will name it.
    pub cause: String,
    /// The cause in words.
    pub text: String,
    /// The process that this is about; `None` if it is the run as a whole.
    pub pid: Option<Pid>,
    /// Since when the limit runs.
    pub since: VTime,
    /// When the limit is over.
    pub at: VTime,
    /// The parameter of the strategy that sets the limit; `None` if none does.
    pub parameter: Option<&'static str>,
}

/// What a strategy intends to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Intended {
    /// End the process and all processes below it.
    End,
    /// End a process below it, so that it goes on.
    EndPart,
    /// Close its stdin, if that is a pipe.
    CloseStdin,
    /// Take the run as over, and end the processes that still hold its streams.
    TakeAsOver,
}

impl Intended {
    /// The word for it in events and answers.
    pub fn word(self) -> &'static str {
        match self {
            Intended::End => "end",
            Intended::EndPart => "end-part",
            Intended::CloseStdin => "close-stdin",
            Intended::TakeAsOver => "take-as-over",
        }
    }
}

/// The page's examples are compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/library.md")]
struct LibraryPage;

#[cfg(test)]
mod laws;
#[cfg(test)]
mod testing;
