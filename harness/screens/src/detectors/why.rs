//! `rehang why`: HUNG is *stuck*, else who is to act next, as its field `state` says.

use crate::recording::Recording;
use crate::says::Says;

pub(super) fn says(recording: &Recording) -> Says {
    let why = &recording.why;
    match (why.verdict.as_str(), why.state.as_str(), why.signature.as_str()) {
        (.., "question-open" | "permission-open") => Says::Asking,
        ("hung", ..) => Says::Stuck,
        (_, "working" | "waits-for-peer", _) => Says::Working,
        (_, "waits-for-person", _) => Says::Idle,
        _ => Says::Nothing,
    }
}
