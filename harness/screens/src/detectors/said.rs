//! What an agent says of itself without drawing it: the Program Status Protocol (OSC 7501), else a title of which it is known
//! what its first words mean. What they mean is from the recordings of this crate, so on them this is no test of a rule: it
//! tells which agents say it at all.

use super::matches;
use crate::recording::{OSC_OF_HOOKS, Recording};
use crate::says::Says;

pub(super) fn says(agent: &str, recording: &Recording) -> Says {
    let status = recording.osc.iter().find(|osc| osc.number == 7501);
    let state = status.and_then(|osc| osc.text.split(':').find_map(|field| field.strip_prefix("state=")));
    if let Some(state) = state {
        return match state {
            "working" => Says::Working,
            "blocked" => Says::Asking,
            "idle" | "done" | "error" => Says::Idle,
            _ => Says::Nothing,
        };
    }
    let title = recording.title.as_str();
    match agent {
        "claude" if title.starts_with('✳') => Says::Idle,
        // the frames of its spinner, by release
        "claude" if matches("^[◐◓◑◒\\x{2800}-\\x{28FF}] ", title) => Says::Working,
        "codex" if title.contains("Action Required") => Says::Asking,
        "codex" if matches("^[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏] ", title) => Says::Working,
        "codex" if !title.is_empty() => Says::Idle,
        "gemini" if title.starts_with('◇') => Says::Idle,
        "gemini" if title.starts_with('✦') => Says::Working,
        "gemini" if title.starts_with('✋') => Says::Asking,
        _ => Says::Nothing,
    }
}

/// The last hook that ran, of those that Claude Code and Gemini CLI were given: the start and the end of a turn, a tool, and
/// what they call a notification.
pub(super) fn by_hooks(recording: &Recording) -> Says {
    let last = recording.osc.iter().find(|osc| osc.number == OSC_OF_HOOKS);
    match last.map(|osc| osc.text.as_str()) {
        Some("UserPromptSubmit" | "PreToolUse" | "BeforeAgent" | "BeforeTool") => Says::Working,
        Some("Notification") => Says::Asking,
        Some("SessionStart" | "Stop" | "AfterAgent") => Says::Idle,
        _ => Says::Nothing,
    }
}
