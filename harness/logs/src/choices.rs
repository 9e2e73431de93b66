//! A question at the end of a text that offers choices, beside the prompts that the readers of processes know too.
//!
//! Invariant: only the last line is looked at.

use rehang_scenario::prompt::{self, Prompt, WaitsAt};

/// The prompt that a text ends with.
pub fn at_end(text: &str) -> Option<Prompt<'_>> {
    let known = prompt::at_end(text);
    let words = text.trim_end().lines().next_back().unwrap_or_default().trim();
    if known.is_some_and(|known| known.certain) || !offers_choices(&words.to_lowercase()) {
        return known;
    }
    Some(Prompt { waits: WaitsAt::Stdin, because: "it asks for a choice", words, certain: true })
}

/// Whether a line is a question, or asks to choose, and ends with the choices: `Which port? [80/443]`, `Is this ok [y/d/N]:`,
/// `Enter a number [1-4]: `; or it is what a shell's `select` asks with.
fn offers_choices(line: &str) -> bool {
    if line == "#?" {
        return true;
    }
    let end = line.trim_end_matches([':', '?', '>', '›', ' ']);
    let Some((before, inside)) = (match end.chars().next_back() {
        Some(']') => end[..end.len() - 1].rsplit_once('['),
        Some(')') => end[..end.len() - 1].rsplit_once('('),
        _ => None,
    }) else {
        return false;
    };
    let listed = |by: char| {
        let all: Vec<&str> = inside.split(by).map(str::trim).collect();
        all.len() > 1 && all.iter().all(|one| !one.is_empty() && one.len() <= CHOICE_BYTES && !one.contains(' '))
    };
    let range = inside.split_once('-').is_some_and(|(from, to)| [from, to].iter().all(|n| n.parse::<u32>().is_ok()));
    if !(listed('/') || listed('|') || end.ends_with(']') && listed(',') || range) {
        return false;
    }
    let asks = before.trim_end().ends_with('?') || line[end.len()..].contains('?');
    let says = ["select", "choose", "choice", "enter ", "pick ", "option", "which ", "(y/", "[y/"];
    asks || line.len() > end.len() && says.iter().any(|word| line.contains(word))
}

/// The longest choice of a question, in bytes. A choice: longer ones are prose.
const CHOICE_BYTES: usize = 24;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_with_choices_is_a_prompt() {
        for line in [
            "Which shell do you use? [bash/zsh/fish]",
            "Is this ok [y/d/N]: ",
            "Enter a number [1-4]: ",
            "Proceed ([y]/n)?",
            "1) sqlite\n2) mysql\n#? ",
            "Which of them? (red|green)",
        ] {
            assert!(at_end(line).is_some_and(|prompt| prompt.certain && prompt.waits == WaitsAt::Stdin), "{line}");
        }
        for line in
            ["checking [src/lib]:", "linked (a/b)", "é?[", "?[]", "]", ")?", "is it (this or/and that)?", "ok? [1]", ""]
        {
            assert!(!at_end(line).is_some_and(|prompt| prompt.certain), "{line}");
        }
        assert_eq!(at_end("a\nWhich? [b/c]\n").map(|prompt| prompt.words), Some("Which? [b/c]"));
    }
}
