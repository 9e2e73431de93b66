//! agentapi: the screen has been the same for two seconds, or it has not (`ScreenStabilityLength` in
//! `lib/httpapi/server.go`). It has no word for a question.

use crate::recording::Recording;
use crate::says::Says;

/// How long the screen must be the same, in milliseconds.
const STABLE_MS: u64 = 2_000;

pub(super) fn says(recording: &Recording) -> Says {
    if recording.still_ms >= STABLE_MS { Says::Idle } else { Says::Working }
}
