//! Around a process: what any program that starts an agent can see and do, without a word of the agent's protocol.

use rehang_evidence::{Diagnosis, Pid};
use rehang_words::Terminal;

/// What any program around a process can see of it.
#[derive(Debug, Clone, PartialEq)]
pub enum ProcessSeen {
    /// How the agent's standard streams are connected; comes before [`ProcessSeen::Started`].
    Terminal(Terminal),
    /// The agent's stdin is its caller's own: nobody here writes to it, and [`ProcessAct::CloseStdin`] would do nothing.
    StdinIsTheCallers,
    /// The agent was started; for a server: it listens, and this session was made for the prompt.
    Started {
        /// The session's id; empty if there is no server.
        session: String,
        /// The prompt of the run.
        prompt: String,
    },
    /// Bytes of the agent's output, as they came out of the pipe.
    Output(Stream, Vec<u8>),
    /// The end of one of its streams. On a terminal, where stderr is not a separate stream, its end comes right after
    /// the start.
    OutputEnd(Stream),
    /// The wrapper or a person wrote this to the agent's stdin.
    Wrote(Vec<u8>),
    /// The agent's process has ended: its exit code, or minus the signal's number.
    Exited(i32),
    /// What the agent's processes do, as `rehang why` reports it.
    Looked(Box<Diagnosis>),
}

/// What any program around a process can do to it.
#[derive(Debug, Clone, PartialEq)]
pub enum ProcessAct {
    /// Sends a signal.
    Kill {
        /// The signal (`TERM`, `KILL`, `INT`), without `SIG`.
        sig: &'static str,
        /// Which processes get it.
        whom: Whom,
    },
    /// Closes the agent's stdin.
    CloseStdin,
    /// Looks at the agent's processes twice, a second apart: [`ProcessSeen::Looked`] follows, unless none of them is left.
    Look,
    /// Settles the run: it is over.
    Settle(Settled),
}

/// One of the agent's output streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stream {
    /// Standard output, or the terminal.
    Stdout,
    /// Standard error.
    Stderr,
}

/// Which processes get a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Whom {
    /// The agent's process.
    Process,
    /// Its process group.
    Group,
    /// The agent's process and all that it started, including those in groups and sessions of their own and those whose
    /// parents have ended.
    Tree,
    /// A process below the agent, and all processes below that one: the agent itself goes on.
    Part(Pid),
    /// The processes that hold its output open: of a run that is over all others were left on purpose.
    Holders,
}

/// How a strategy says that the run ended.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Settled {
    /// It completed: the result's text.
    Completed(String),
    /// It was ended: the cause in one word, and the text that it gives.
    Stopped(String, String),
    /// It failed: the text of the failure.
    Failed(String),
}
