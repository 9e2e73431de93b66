//! `rehang why`: its first word, and of a wait whether a person ends it.

use super::Says;
use crate::recording::Recording;

pub(super) fn says(recording: &Recording) -> Says {
    let why = &recording.why;
    match (why.verdict.as_str(), why.signature.as_str()) {
        ("hung", _) => Says::Stuck,
        ("working", _) => Says::Working,
        ("waiting", "terminal-person") => Says::Idle,
        ("waiting", "question-open" | "permission-open") => Says::Asking,
        // it looks again and again, and for what is not said
        ("waiting", "polling") => Says::Nothing,
        // for what comes by itself, or has a limit
        ("waiting", _) => Says::Working,
        _ => Says::Nothing,
    }
}
