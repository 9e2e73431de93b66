//! ccmanager: texts on the last 30 lines, first those of a question, then those of work; else it is idle.

use super::matches;
use crate::recording::Recording;
use crate::says::Says;

/// The lines that it reads.
const LINES: usize = 30;
/// How long the text must be the same before Claude Code counts as idle, in milliseconds; until then it is what it was.
const IDLE_MS: u64 = 1_500;
/// The characters with which Claude Code's line of activity begins.
const SPINNER: &str = r"[✱✲✳✴✵✶✷✸✹✺✻✼✽✾✿❀❁❂❃❇❈❉❊❋✢✣✤✥✦✧✨⊛⊕⊙◉◎◍⁂⁕※⍟☼★☆·•⏺▸▹∙⋅○●]";

pub(super) fn says(agent: &str, recording: &Recording) -> Says {
    let lines = &recording.screen[recording.screen.len().saturating_sub(LINES)..];
    let text = lines.join("\n");
    let lower = text.to_lowercase();
    match agent {
        "claude" => claude(lines, &lower, recording),
        "codex" => codex(&text, &lower),
        "gemini" => gemini(&text, &lower),
        _ if text.contains("△ Permission required") => Says::Asking,
        _ => busy_or_idle(matches("(?i)esc.*interrupt", &text)),
    }
}

fn busy_or_idle(is_busy: bool) -> Says {
    if is_busy { Says::Working } else { Says::Idle }
}

fn claude(lines: &[String], lower: &str, recording: &Recording) -> Says {
    // before it is idle it was busy: a session begins so, and each turn makes it so
    let idle = || busy_or_idle(recording.still_ms < IDLE_MS);
    if recording.screen.join("\n").contains("⌕ Search…") {
        return idle();
    }
    if lower.contains("ctrl+r to toggle") {
        return Says::Nothing;
    }
    let asks = matches(r"(?:do you want|would you like).+\n+[\s\S]*?(?:yes|❯)", lower)
        || lower.contains("esc to cancel")
        || matches(r"\d+\.\s*deny\s*\(esc\)", lower);
    if asks {
        return Says::Asking;
    }
    let above = last_block(above_prompt_box(lines));
    let above_lower = above.to_lowercase();
    let busy = above_lower.contains("esc to interrupt")
        || above_lower.contains("ctrl+c to interrupt")
        || matches(&format!(r"(?m)^{SPINNER} \S+ing.*…"), &above)
        || matches(r"(?i)\([^)]*\d[^)]*tokens\s*\)", &above);
    if busy { Says::Working } else { idle() }
}

/// The lines above the box of the prompt, whose borders are the last two whole lines of `─`; all if there is none.
fn above_prompt_box(lines: &[String]) -> &[String] {
    let is_border = |line: &String| !line.trim().is_empty() && line.trim().chars().all(|c| c == '─');
    let borders = lines.iter().enumerate().rev().filter(|(_, line)| is_border(line));
    borders.map(|(at, _)| at).nth(1).map_or(lines, |top| &lines[..top])
}

/// The last lines that have no empty one and no rule between them.
fn last_block(lines: &[String]) -> String {
    let is_rule = |line: &str| line.chars().all(|c| c == '-' || c == '─' || c.is_whitespace());
    let end = lines.iter().rposition(|line| !is_rule(line) && line.trim() != "❯").map_or(0, |last| last + 1);
    let start = lines[..end].iter().rposition(|line| is_rule(line)).map_or(0, |rule| rule + 1);
    lines[start..end].join("\n")
}

fn codex(text: &str, lower: &str) -> Says {
    let texts = [
        "press enter to confirm or esc to cancel",
        "| enter to submit answer",
        "allow command?",
        "[y/n]",
        "yes (y)",
        "enter to submit",
    ];
    let asks = texts.iter().any(|text| lower.contains(text))
        || matches("(?i)confirm with .+ enter", text)
        || matches(r"(do you want|would you like)[\s\S]*?\n+[\s\S]*?\byes\b", lower);
    if asks { Says::Asking } else { busy_or_idle(matches("esc.*interrupt", lower)) }
}

fn gemini(text: &str, lower: &str) -> Says {
    let texts = ["│ Apply this change", "│ Allow execution", "│ Do you want to proceed"];
    let asks = lower.contains("waiting for user confirmation")
        || texts.iter().any(|asks| text.contains(asks))
        || matches(r"(allow execution|do you want to|apply this change)[\s\S]*?\n+[\s\S]*?\byes\b", lower);
    if asks { Says::Asking } else { busy_or_idle(lower.contains("esc to cancel")) }
}
