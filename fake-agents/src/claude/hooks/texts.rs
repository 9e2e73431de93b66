//! What the releases say of hooks, word for word.

use crate::claude::release::Release;

/// Why a callback fails whose host had closed its end before.
pub(super) const STREAM_CLOSED: &str = "Stream closed";

/// What a host's callback failed with when its stdin ended.
pub(in crate::claude) const STREAM_CLOSED_EARLY: &str = "Tool permission stream closed before response received";
/// 2.1.329's warning about a command that did not end in time.
pub(in crate::claude) const HOOK_LATE: &str = "A hook didn't answer in time, so it didn't check this action.";
/// What 2.1.329 tells the model of a call whose callback was not answered in time.
pub(in crate::claude) const CALLBACK_LATE: &str = "PreToolUse hook did not respond before its timeout (host client may \
    be unreachable). The tool call was not executed; other configured hooks may not have completed.";
/// 2.1.329's notice of the first hook that keeps a turn from ending.
pub(in crate::claude) const STOP_HOOK_PROBLEM: &str = "stop hook problem \u{b7} ctrl+o to see";

/// Why a call does not run. `by_code`: the hook's exit code says so, and not its output.
pub(in crate::claude) fn blocked_by_hook(release: Release, tool: &str, why: &str, by_code: bool) -> String {
    match release {
        Release::V1_0_128 => format!("{tool} operation blocked by hook:\n- {why}"),
        Release::V2_0_77 if !by_code => why.to_owned(),
        _ => format!("PreToolUse:{tool} hook error: {why}"),
    }
}

/// What 2.1.329 says of a prompt that a hook blocked.
pub(in crate::claude) fn prompt_blocked(why: &str, prompt: Option<&str>) -> String {
    let prompt = prompt.map_or(String::new(), |prompt| format!("\n\nOriginal prompt: {prompt}"));
    format!("UserPromptSubmit operation blocked by hook:\n{why}{prompt}")
}

/// Why 2.1.329 blocks a prompt whose callback has not returned (recorded).
pub(in crate::claude) const PROMPT_CHECK_LATE: &str = "UserPromptSubmit hook callback timed out after 30000ms";

/// What the model is told of a turn that a hook keeps from ending.
pub(in crate::claude) fn stop_feedback(release: Release, why: &str) -> String {
    let mark = if release == Release::V1_0_128 { "- " } else { "" };
    format!("Stop hook feedback:\n{mark}{why}")
}

/// Why 2.1.329 ends the turn all the same.
pub(in crate::claude) fn stop_cap(times: u32) -> String {
    format!(
        "A hook blocked the turn from ending {times} consecutive times\u{2014}overriding and ending turn. For \
         Stop/SubagentStop hooks, check stop_hook_active in the input and return success while it's true. Set \
         CLAUDE_CODE_STOP_HOOK_BLOCK_CAP to raise this limit."
    )
}

/// What stderr shows of a callback that failed.
pub(in crate::claude) fn callback_failed(callback: &str, why: &str) -> String {
    format!("Error in hook callback {callback}: Error: {why}")
}

/// 2.1.329's warning about it.
pub(in crate::claude) fn callback_invalid(event: &str, callback: &str) -> String {
    format!(
        "{event}: Hook callback {callback} failed: the SDK host replied with an error or an invalid answer. Its answer \
         was treated as empty."
    )
}

/// What a Notification hook is told of a call that is asked about.
pub(super) fn asked_about(tool: &str) -> String {
    format!("Claude needs your permission to use {tool}")
}
