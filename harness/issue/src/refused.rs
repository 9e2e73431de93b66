//! Why a cell has no text.
//!
//! Invariant: each reason is a sentence about the cell, for the person who asked for its text.

use rehang_agents::CannotRun;

/// Why there is no text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The row says that it ended.
    #[error("it did not hang there: {0}")]
    NoHang(String),
    /// The release has no recipe.
    #[error("{0}")]
    Recipe(#[from] CannotRun),
    /// The release cannot play the scenario; why.
    #[error("{0}")]
    Cannot(String),
    /// A session with a screen waits for its user by design.
    #[error("an interactive session waits for its user, which is no fault of the release")]
    Interactive,
    /// It is a server.
    #[error("the release is a server: the script would need a client of it")]
    Serves,
    /// It may be given a further prompt.
    #[error("the release takes further prompts over stdin, which stays open: that it waits is how it is meant")]
    Held,
    /// A host answers what it says.
    #[error("a host drives the release over stdin: the script would need that host")]
    Host,
    /// Somebody of the scenario does more than write to its stdin.
    #[error("the scenario has people who do more than write a prompt to stdin")]
    People,
    /// The model does this.
    #[error("its model {0}, which the script's model cannot do")]
    Fault(String),
    /// A fault hits a response other than the first, whichever that is.
    #[error("a fault hits the response {0} of the run, and the script's model counts only the first")]
    LaterFault(u32),
    /// A step of a command.
    #[error("the step `{0}` has no equivalent in a shell")]
    Step(String),
    /// A tool server.
    #[error("its tool server ({0}) has no equivalent in a script")]
    ToolServer(String),
    /// A program of rehang is in an argument or a file.
    #[error("its arguments start a program of rehang")]
    Fake,
    /// The script would have this many lines, and may have this many.
    #[error("the script has {0} lines, and {1} are allowed")]
    Long(usize, usize),
}
