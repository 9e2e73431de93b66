//! herdr: rules by priority, each over a region of the screen or over the title; if none fits, a known agent is idle.
//! A text that a rule looks for is compared without regard to capitals.

use super::matches;
use crate::recording::Recording;
use crate::says::Says;

/// What its rules read.
struct Input<'r> {
    screen: String,
    lines: Vec<&'r str>,
    title: &'r str,
    progress: String,
}

pub(super) fn says(agent: &str, recording: &Recording) -> Says {
    let progress = recording.osc.iter().find(|osc| osc.number == 9);
    let input = Input {
        screen: recording.screen.join("\n"),
        lines: recording.screen.iter().map(String::as_str).collect(),
        title: &recording.title,
        progress: progress.map(|osc| osc.text.clone()).unwrap_or_default(),
    };
    let said = match agent {
        "claude" => claude(&input),
        "codex" => codex(&input),
        "gemini" => gemini(&input),
        _ => opencode(&input),
    };
    said.unwrap_or(Says::Idle)
}

impl Input<'_> {
    /// The last lines that are not empty, as many as this, with what lies between them.
    fn bottom(&self, count: usize) -> &[&str] {
        let filled = self.lines.iter().enumerate().rev().filter(|(_, line)| !line.trim().is_empty());
        filled.map(|(at, _)| at).take(count).last().map_or(&[], |first| &self.lines[first..])
    }

    fn after_last_rule(&self) -> String {
        let from = self.lines.iter().rposition(|line| is_rule(line)).map_or(0, |rule| rule + 1);
        self.lines[from..].join("\n")
    }

    /// Between the last two rules; `None` if there are fewer.
    fn prompt_box(&self) -> Option<&[&str]> {
        let mut rules = self.lines.iter().enumerate().rev().filter(|(_, line)| is_rule(line)).map(|(at, _)| at);
        let (bottom, top) = (rules.next()?, rules.next()?);
        Some(&self.lines[top + 1..bottom])
    }

    /// After Codex's last prompt; all if there is none.
    fn after_prompt(&self) -> String {
        let is_prompt = |line: &&str| **line == *"›" || line.starts_with("› ");
        let from = self.lines.iter().rposition(is_prompt).map_or(0, |prompt| prompt + 1);
        self.lines[from..].join("\n").to_lowercase()
    }
}

/// A line of `─`; a text may follow three of them.
fn is_rule(line: &str) -> bool {
    let line = line.trim();
    let rest = line.trim_start_matches('─');
    let count = (line.len() - rest.len()) / '─'.len_utf8();
    count > 0 && (rest.trim().is_empty() || count >= 3)
}

fn any(text: &str, needles: &[&str]) -> bool {
    needles.iter().any(|needle| text.contains(needle))
}

fn all(text: &str, needles: &[&str]) -> bool {
    needles.iter().all(|needle| text.contains(needle))
}

fn any_line(lines: &[&str], pattern: &str) -> bool {
    lines.iter().any(|line| matches(pattern, line))
}

fn claude(input: &Input<'_>) -> Option<Says> {
    let lower = input.screen.to_lowercase();
    let bottom = |count| input.bottom(count).join("\n").to_lowercase();
    let form = input.after_last_rule().to_lowercase();
    let prompt = input.prompt_box().unwrap_or(&[]);
    let navigates = [
        "tab/arrow keys to navigate",
        "arrow keys to navigate",
        "arrows to navigate",
        "↑/↓ to navigate",
        "↑↓ to navigate",
    ];
    let viewer = any(&bottom(3), &["↑↓ scroll", "? for shortcuts"])
        || all(&bottom(3), &["ctrl+o", "to toggle"])
        || all(&bottom(3), &["ctrl+e", "show all"])
        || all(&bottom(3), &["ctrl+e", "collapse"]);
    let yes_or_no = r"(?i)^\s*❯?\s*yes\b|^\s*1\.\s*yes\b|^\s*2\.\s*no\b";
    let amends = ["bash command", "bash(", "contains expansion", "tab to amend", "ctrl+e to explain"];
    let answers = r"(?i)^\s*❯?\s*1\.\s*yes\b|^\s*2\.\s*yes\b|^\s*2\.\s*no\b|^\s*3\.\s*no\b";
    let legacy = any(&lower, &["do you want to", "would you like to"]) && any(&lower, &["yes", "❯"])
        || any(
            &lower,
            &[
                "waiting for permission",
                "do you want to allow this connection?",
                "tab to amend",
                "ctrl+e to explain",
                "review your answers",
                "skip interview and plan immediately",
            ],
        );
    let hints = ["enter to select", "esc to cancel", "tab/arrow keys", "arrow keys to navigate", "↑/↓ to navigate"];
    match () {
        () if matches(r"^[\x{2800}-\x{28FF}] ", input.title) => Some(Says::Working),
        () if bottom(3).contains("showing detailed transcript") && viewer => Some(Says::Nothing),
        () if form.contains("esc to cancel")
            && (form.contains("enter to confirm") || form.contains("enter to select") && any(&form, &navigates)) =>
        {
            Some(Says::Asking)
        }
        () if all(&lower, &["run a dynamic workflow?", "esc to cancel"]) => Some(Says::Asking),
        () if any_line(input.bottom(5), r"^\s*/btw(?:\s|$)") && any_line(input.bottom(5), r"(?i)esc to close\s*$") => {
            Some(Says::Working)
        }
        () if any_line(prompt, r"^\s*❯") && !any(&prompt.join("\n").to_lowercase(), &hints) => Some(Says::Idle),
        () if all(&lower, &["select model", "enter to set as default", "esc to cancel"])
            && !any(&lower, &["do you want to proceed?", "enter to select"]) =>
        {
            Some(Says::Nothing)
        }
        () if lower.contains("do you want to proceed?")
            && any(&lower, &amends)
            && any_line(&input.lines, yes_or_no) =>
        {
            Some(Says::Asking)
        }
        () if all(&form, &["do you want to proceed?", "esc to cancel"])
            && form.lines().any(|line| matches(answers, line)) =>
        {
            Some(Says::Asking)
        }
        () if legacy && !any_line(&input.lines, r"^\s*❯\s*$") => Some(Says::Asking),
        () if matches(r"^\x{2733} ", input.title) || input.progress.starts_with("4;0") => Some(Says::Idle),
        () => None,
    }
}

fn codex(input: &Input<'_>) -> Option<Says> {
    let lower = input.screen.to_lowercase();
    let after = input.after_prompt();
    let spins = matches("(?:^| )[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏](?: |$)", input.title);
    let strong =
        ["press enter to confirm or esc to cancel", "enter to submit answer", "enter to submit all", "allow command?"];
    let weak = any(&lower, &["[y/n]", "yes (y)"])
        || any(&lower, &["do you want to", "would you like to"]) && any(&lower, &["yes", "❯"]);
    match () {
        () if input.title.to_lowercase().contains("action required") => Some(Says::Asking),
        () if spins => Some(Says::Working),
        () if all(&after, &["↑/↓ to scroll", "pgup/pgdn to", "home/end to jump", "q to quit"])
            && any(&after, &["esc to edit prev", "esc/← to edit prev"]) =>
        {
            Some(Says::Nothing)
        }
        () if any(&after, &strong) => Some(Says::Asking),
        () if weak => Some(Says::Asking),
        () if any_line(input.bottom(3), r"^[•◦]\s+Working \([^)]*esc to interrupt\)(?: · .*)?$") => {
            Some(Says::Working)
        }
        () => None,
    }
}

fn gemini(input: &Input<'_>) -> Option<Says> {
    let lower = input.screen.to_lowercase();
    let proceed = lower.contains("yes")
        && any(&lower, &["waiting for user confirmation", "│ do you want to proceed", "do you want to proceed?"]);
    let asks = proceed || any(&lower, &["│ apply this change", "│ allow execution"]);
    match () {
        () if asks || any_line(&input.lines, r"(?i)^\s*❯.*(yes|allow)") => Some(Says::Asking),
        () if lower.contains("esc to cancel") => Some(Says::Working),
        () => None,
    }
}

fn opencode(input: &Input<'_>) -> Option<Says> {
    let lower = input.screen.to_lowercase();
    let dialog = lower.contains("esc dismiss")
        && any(&lower, &["enter confirm", "enter submit", "enter toggle"])
        && any(&lower, &["↑↓ select", "⇆ tab"]);
    match () {
        () if dialog || lower.contains("△ permission required") => Some(Says::Asking),
        () if any(&lower, &["esc to interrupt", "ctrl+c to interrupt"])
            || any_line(&input.lines, r"(?i).*opencode.*esc (again to )?interrupt") =>
        {
            Some(Says::Working)
        }
        () if matches("(■|⬝){4,}", &input.screen) => Some(Says::Working),
        () => None,
    }
}
