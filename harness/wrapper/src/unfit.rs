//! Why a cell does not fit a wrapper.
//!
//! Invariant: cells that do not fit for the same reason have the same words, since they are counted by them.

use rehang_stage::JudgedError;

/// Why a cell does not fit a wrapper.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// The cell's terminal is not one of the run's.
    #[error("its terminal {0} was not asked for, or is none for a wrapper")]
    Terminal(&'static str),
    /// The scenario is about another agent.
    #[error("its agent is {scenario}, the wrapper starts {wrapper}")]
    Agent {
        /// The scenario's.
        scenario: &'static str,
        /// The wrapper's.
        wrapper: &'static str,
    },
    /// The scenario is about the same agent, started another way.
    #[error("its agent is started as {scenario}; the wrapper starts it as {wrapper}")]
    Mode {
        /// How the scenario has it.
        scenario: &'static str,
        /// How the wrapper does it.
        wrapper: &'static str,
    },
    /// The scenario's agent is a plain program.
    #[error(
        "its agent is a plain program, and the agent that the wrapper starts does not say what its messages look like"
    )]
    Plain,
    /// The scenario is about several runs in a row.
    #[error("it needs several runs in a row, and the wrapper is started once")]
    Runs,
    /// On this terminal the agent waits for its stdin before it does anything.
    #[error("on {0} its agent waits for its stdin before it does anything (S1)")]
    Stdin(&'static str),
    /// A fake cannot play the scenario alone.
    #[error("{0}")]
    Alone(&'static str),
    /// The scenario has people.
    #[error("somebody acts in it, and beside a wrapper nobody plays people")]
    People,
    /// The agent has the wrapper's terminal as its stdin alone.
    #[error("the wrapper leaves its agent the terminal as stdin and not as stdout: no scenario speaks of that")]
    StdinAlone,
    /// The agent is connected in the same way on every terminal.
    #[error("the wrapper connects its agent itself: one terminal stands for all, but where stdin is the point")]
    SameOnAll,
    /// The deadline leaves the wrapper too little time.
    #[error("it takes too long: more than half of --deadline before it ends or hangs")]
    Long {
        /// After how many virtual milliseconds it completes, if it does.
        healthy: Option<u64>,
    },
    /// It could not be played without the wrapper.
    #[error(transparent)]
    Baseline(#[from] JudgedError),
}

impl Unfit {
    /// Whether it says something of the wrapper, not only that the scenario is another agent's or another terminal's.
    pub fn is_telling(&self) -> bool {
        !matches!(self, Unfit::Agent { .. } | Unfit::Terminal(_) | Unfit::SameOnAll)
    }
}
