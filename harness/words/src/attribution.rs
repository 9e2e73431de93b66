//! What agents say in the user's name: the texts of each dialect and release that say that a user did something.
//!
//! Invariant: one table ([`TEXTS`]) for those that say it and for the judge. The fakes emit these constants, and the
//! judge's `attributed-to-user` knows no others, so a text cannot be emitted and be unknown to the judge because it was
//! written down twice. A text that says that a user did *not* do something (PawWork's "Question cancelled before the
//! user answered it.", Claude Code 2.1.329's "The user did not answer the questions.") has no entry here.

use memchr::memmem::Finder;
use std::sync::LazyLock;

/// What a text says that the user did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Deed {
    /// Answered what was asked.
    Answered,
    /// Dismissed, rejected or denied it.
    Refused,
    /// Interrupted the run or the call.
    Interrupted,
}

impl Deed {
    /// In a sentence: the user …
    pub fn word(self) -> &'static str {
        match self {
            Deed::Answered => "answered",
            Deed::Refused => "refused",
            Deed::Interrupted => "interrupted",
        }
    }
}

/// Where in a tool's result a text must be to come from its dialect rather than from a quotation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// At its begin.
    Begin,
    /// At its end.
    End,
    /// Anywhere.
    Anywhere,
}

/// A text that says that the user did something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attribution {
    /// The text, or the part of it that says so.
    pub text: &'static str,
    /// What it says that the user did.
    pub deed: Deed,
    /// Where in a tool's result it is.
    pub place: Place,
    /// Who says it: the agent and its releases.
    pub dialect: &'static str,
    /// How it is known: a recording, or the source file that it was read in.
    pub source: &'static str,
}

/// The beginning of a tool result that passes on an answer (opencode in all releases, Claude Code up to 2.0.77).
pub const ANSWERED: &str = "User has answered your questions";
/// Its continuation; altimate-code's auto-answer says it too (`r1`, `r2`).
pub const ANSWERS_IN_MIND: &str = "You can now continue with the user's answers in mind.";
/// opencode: what a dismissed question tells the model; PawWork also of a reply that did not fit.
pub const QUESTION_DISMISSED: &str = "The user dismissed this question";
/// opencode: what a rejected permission tells the model.
pub const PERMISSION_REJECTED: &str = "The user rejected permission to use this specific tool call.";
/// PawWork: what the model is told of a question to which all answers are empty.
pub const SKIPPED: &str = "Skipped by user";
/// PawWork: what the model is told of a dismissed external result.
pub const EXTERNAL_DISMISSED: &str = "User dismissed the question.";
/// Claude Code: what the model is told of a tool that a person at the terminal turned down.
pub const TURNED_DOWN: &str = "The user doesn't want to proceed with this tool use. The tool use was rejected \
    (eg. if it was a file edit, the new_string was NOT written to the file). \
    STOP what you are doing and wait for the user to tell you how to proceed.";
/// Claude Code: what the model is told of a tool that an interrupt withdrew while it was asked for.
pub const CANCELLED: &str = "The user doesn't want to take this action right now. \
    STOP what you are doing and wait for the user to tell you how to proceed.";
/// Claude Code 2.1.329: what its host is shown of a call that an interrupt withdrew while it was asked for.
pub const TAKEN_BACK: &str = "User rejected tool use";
/// Codex: what ends the result of a command that the client did not allow; 0.116.0 also after an error.
pub const REJECTED: &str = r#"Rejected(\"rejected by user\")" }"#;
/// Codex: what the model is told of a change of a file that the client did not allow; 0.116.0 also after an error.
pub const PATCH_REJECTED: &str = "patch rejected by user";
/// Codex: what ends the result of a tool server's tool that the client did not allow; 0.169.0 also after an error.
pub const CALL_REJECTED: &str = "user rejected MCP tool call";
/// Codex: the same, if the client cancels.
pub const CALL_CANCELLED: &str = "user cancelled MCP tool call";
/// Claude Code: the note after an interrupted tool.
pub const INTERRUPTED_TOOL: &str = "[Request interrupted by user for tool use]";
/// Claude Code: the note after an interrupted response.
pub const INTERRUPTED: &str = "[Request interrupted by user]";

const fn ends(text: &'static str, dialect: &'static str) -> Attribution {
    let source = "recorded: golden of codex app-server 0.116.0 and 0.169.0";
    Attribution { text, deed: Deed::Refused, place: Place::End, dialect, source }
}

const fn begins(text: &'static str, deed: Deed, dialect: &'static str, source: &'static str) -> Attribution {
    Attribution { text, deed, place: Place::Begin, dialect, source }
}

/// All texts that say that the user did something.
pub const TEXTS: &[Attribution] = &[
    begins(
        ANSWERED,
        Deed::Answered,
        "opencode 1.2.15 and later; Claude Code 2.0.77",
        "recorded: golden of opencode 1.2.15, 1.18.33 and Claude Code 2.0.77",
    ),
    Attribution {
        text: "the user's answers in mind",
        deed: Deed::Answered,
        place: Place::Anywhere,
        dialect: "as above; altimate-code's auto-answer r1 and r2",
        source: "recorded, as above; read: AltimateAI/altimate-code a49442bf9 and PR 937, tool/question.ts",
    },
    begins(
        QUESTION_DISMISSED,
        Deed::Refused,
        "opencode 1.2.15 and later; PawWork 2837fabbb",
        "recorded: golden of opencode 1.2.15 and 1.18.33; read: Astro-Han/pawwork 2837fabbb",
    ),
    begins(
        PERMISSION_REJECTED,
        Deed::Refused,
        "opencode 1.0.185 and later",
        "recorded: golden of opencode 1.0.185, 1.2.15, 1.3.2 and 1.18.33",
    ),
    Attribution {
        text: SKIPPED,
        deed: Deed::Answered,
        place: Place::Anywhere,
        dialect: "PawWork 2837fabbb",
        source: "read: Astro-Han/pawwork 2837fabbb",
    },
    begins(EXTERNAL_DISMISSED, Deed::Refused, "PawWork 6ab984202", "read: Astro-Han/pawwork 6ab984202"),
    begins(
        "The user doesn't want to proceed with this tool use",
        Deed::Refused,
        "Claude Code 1.0.128 to 2.1.329",
        "recorded: golden of 2.1.329; read of the others",
    ),
    begins(
        "The user doesn't want to take this action right now",
        Deed::Refused,
        "Claude Code 1.0.128 to 2.1.329",
        "read in the releases; no recording has it",
    ),
    begins(TAKEN_BACK, Deed::Refused, "Claude Code 2.1.329", "recorded: golden of 2.1.329"),
    begins(INTERRUPTED_TOOL, Deed::Interrupted, "Claude Code 1.0.128 to 2.1.329", "recorded: golden of all three"),
    begins(INTERRUPTED, Deed::Interrupted, "Claude Code 1.0.128 to 2.1.329", "recorded: golden of all three"),
    ends(REJECTED, "Codex 0.116.0 and 0.169.0"),
    ends(PATCH_REJECTED, "Codex 0.116.0 and 0.169.0"),
    ends(CALL_REJECTED, "Codex 0.169.0"),
    ends(CALL_CANCELLED, "Codex 0.169.0"),
];

/// What a tool's result says that the user did: the entries of the table that it contains, each once.
pub fn said_in_result(text: &str) -> impl Iterator<Item = &'static Attribution> {
    // the model is told an error with this word before it
    let text = text.strip_prefix("Error: ").unwrap_or(text);
    TEXTS.iter().filter(move |said| match said.place {
        Place::Begin => text.starts_with(said.text),
        Place::End => text.ends_with(said.text),
        Place::Anywhere => text.contains(said.text),
    })
}

/// What any other text (a line of output, an event, a report) says that the user did, quoted or not.
pub fn said_in(text: &str) -> impl Iterator<Item = &'static Attribution> {
    let may_say = WORDS.iter().any(|word| word.find(text.as_bytes()).is_some());
    TEXTS.iter().filter(move |said| may_say && text.contains(said.text))
}

/// Each text has one of these words in it, and few others have: they are all that is looked for in most.
static WORDS: LazyLock<[Finder<'static>; 3]> = LazyLock::new(|| [" user", "User ", "MCP tool call"].map(Finder::new));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_whole_texts_are_found_by_their_lines() {
        let all = [
            QUESTION_DISMISSED,
            PERMISSION_REJECTED,
            EXTERNAL_DISMISSED,
            TURNED_DOWN,
            CANCELLED,
            TAKEN_BACK,
            REJECTED,
            PATCH_REJECTED,
            CALL_REJECTED,
            CALL_CANCELLED,
        ];
        for text in all {
            assert_eq!(said_in_result(text).map(|said| said.deed).collect::<Vec<_>>(), [Deed::Refused], "{text}");
        }
        for text in [INTERRUPTED, INTERRUPTED_TOOL] {
            assert_eq!(said_in_result(text).map(|said| said.deed).collect::<Vec<_>>(), [Deed::Interrupted], "{text}");
        }
        assert_eq!(said_in_result(&format!("Error: {PERMISSION_REJECTED} You may try again.")).count(), 1);
        assert_eq!(said_in_result(&format!("exec_command failed: CreateProcess {{ message: \"{REJECTED}")).count(), 1);
        assert_eq!(said_in_result(&format!("{CALL_REJECTED}, says the log")).count(), 0);
        let answered = format!("{ANSWERED}: \"Which?\"=\"A\". {ANSWERS_IN_MIND}");
        assert!(said_in_result(&answered).all(|said| said.deed == Deed::Answered));
        assert_eq!(said_in_result(&answered).count(), 2);
    }

    #[test]
    fn a_deed_has_a_word_in_a_sentence() {
        let words = [Deed::Answered, Deed::Refused, Deed::Interrupted].map(Deed::word);
        assert_eq!(words, ["answered", "refused", "interrupted"]);
    }

    #[test]
    fn what_quotes_or_denies_it_says_nothing() {
        let quoted = format!("The child was told: {QUESTION_DISMISSED}");
        assert_eq!((said_in_result(&quoted).count(), said_in(&quoted).count()), (0, 1));
        for text in ["The user did not answer the questions.", "Question cancelled before the user answered it.", ""] {
            assert_eq!(said_in(text).count(), 0, "{text}");
        }
    }

    #[test]
    fn every_line_has_its_source() {
        for said in TEXTS {
            assert!(![said.text, said.dialect, said.source].contains(&""), "{said:?}");
            assert_eq!(TEXTS.iter().filter(|other| other.text == said.text).count(), 1, "{said:?}");
            assert!(said_in(said.text).any(|found| found == said), "{said:?}");
        }
    }
}
