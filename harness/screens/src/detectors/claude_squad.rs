//! claude-squad: the pane, with its colours, differs from half a second ago, or it does not; of one that does not, a text
//! says that it asks.

use crate::recording::Recording;
use crate::says::Says;

/// The time between two looks at the pane, in milliseconds.
const TICK_MS: u64 = 500;

pub(super) fn says(agent: &str, recording: &Recording) -> Says {
    let screen = recording.screen.join("\n");
    let asks = match agent {
        "claude" => "No, and tell Claude what to do differently",
        "gemini" => "Yes, allow once",
        _ => "\0",
    };
    match () {
        () if recording.still_styled_ms < TICK_MS => Says::Working,
        () if screen.contains(asks) => Says::Asking,
        () => Says::Idle,
    }
}
