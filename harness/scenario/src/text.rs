//! Words for people: suggestions for mistyped names, counts with their nouns, durations.
//!
//! Pure, and in the lowest crate, so that every error and every report writes these alike.
//!
//! Invariant: a suggestion is one of the candidates, or, of names with folders, a part of one.

use crate::limits;
use crate::problem::shown;
use std::time::Duration;

/// The candidate that a word was most likely meant to be; `None` if none is near. Among equally near ones the first.
///
/// A candidate is near if it begins with the word or the word begins with it (three characters at least), or if it
/// takes only a few characters to insert, remove, replace or swap with their neighbour: one, and above five characters
/// one in three, as in rustc. Upper and lower case, `_` and `-` are the same.
pub fn suggest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if word.len() > limits::NAME_CHARS {
        return None;
    }
    let plain = |text: &str| text.to_lowercase().replace('_', "-");
    let word = plain(word);
    let length = word.chars().count();
    let most = if length < 2 { 0 } else { length.max(3) / 3 };
    let near = candidates.into_iter().filter_map(|candidate| {
        let name = plain(candidate);
        let begins = length >= 3 && name.chars().count() >= 3 && (name.starts_with(&word) || word.starts_with(&name));
        let distance = strsim::damerau_levenshtein(&word, &name);
        (distance <= most || begins).then_some((distance, candidate))
    });
    near.min_by_key(|(distance, _)| *distance).map(|(_, candidate)| candidate)
}

/// As [`suggest`], for names with folders and variants, such as `question/row-diff[blank]`, of which a user may give a
/// part: the whole name, the name without its variant, its last part or its folder.
pub fn suggest_part<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let (mut whole, mut parts) = (Vec::new(), Vec::new());
    for name in names {
        let base = name.split('[').next().unwrap_or(name);
        whole.extend([base, name]);
        if let Some(at) = base.rfind('/') {
            parts.extend([&base[at + 1..], &base[..=at]]);
        }
    }
    // a part that is nearer than any whole name was meant; `question/rwo-diff` is no misspelt folder
    let parts = if word.trim_end_matches('/').contains('/') { Vec::new() } else { parts };
    suggest(word, whole.into_iter().chain(parts))
}

/// The error for an unknown name: what was given, the nearest, and how to see all, in a lower-case fragment. `all` is a
/// clause such as "`rehang strategies` lists them"; it may be empty.
///
/// ```
/// # use rehang_scenario::text::unknown;
/// let all = "there are null, tty";
/// assert_eq!(unknown("terminal", "nul", Some("null"), all), "no terminal is called `nul`; did you mean `null`? There are null, tty");
/// assert_eq!(unknown("terminal", "x11", None, all), "no terminal is called `x11`; there are null, tty");
/// ```
pub fn unknown(what: &str, given: &str, near: Option<&str>, all: &str) -> String {
    format!("no {what} is called `{}`{}", shown(given), or(near, all))
}

/// The end of an error about a name: [`instead`] after a semicolon, or nothing.
pub fn or(near: Option<&str>, all: &str) -> String {
    let instead = instead(near, all);
    if instead.is_empty() { instead } else { format!("; {instead}") }
}

/// What there is instead: the nearest if there is one, then how to see all.
pub fn instead(near: Option<&str>, all: &str) -> String {
    match (near, all) {
        (None, all) => all.to_owned(),
        (Some(near), "") => did_you_mean(near),
        (Some(near), all) => format!("{} {}", did_you_mean(near), sentence(all)),
    }
}

/// As [`instead`], for a word of a list that is short enough to be shown whole; it follows what clap says.
pub fn one_of<'a>(word: &str, all: impl IntoIterator<Item = &'a str>) -> String {
    let all: Vec<&str> = all.into_iter().collect();
    instead(suggest(word, all.iter().copied()), &format!("there are {}", all.join(", ")))
}

/// `did you mean `null`?`
pub fn did_you_mean(near: &str) -> String {
    format!("did you mean `{}`?", shown(near))
}

fn sentence(clause: &str) -> String {
    let mut chars = clause.chars();
    chars.next().map_or(String::new(), |first| first.to_uppercase().chain(chars).collect())
}

/// A count with a noun whose plural takes an `s`: `1 file`, `2 files`.
pub fn counted(n: impl TryInto<u64>, what: &str) -> String {
    counted_as(n, what, &format!("{what}s"))
}

/// A count with a noun that has a plural of its own: `1 hash`, `2 hashes`.
pub fn counted_as(n: impl TryInto<u64>, one: &str, many: &str) -> String {
    // a number that does not fit is not 1
    let n = n.try_into().unwrap_or(u64::MAX);
    format!("{n} {}", if n == 1 { one } else { many })
}

/// A duration for people, in two units at most and rounded down: `250ms`, `1.2s`, `1m30s`, `4h`, `3d12h`.
///
/// The units are those of scenario files; [`Span`](crate::Span)'s `Display` is the exact form that reads back.
pub fn duration(ms: u64) -> String {
    let two = |n: u64, unit: &str, rest: u64, of: &str| {
        if rest == 0 { format!("{n}{unit}") } else { format!("{n}{unit}{rest}{of}") }
    };
    match ms / 1_000 {
        0 => format!("{ms}ms"),
        s @ 1..60 if ms % 1_000 >= 100 => format!("{s}.{}s", ms % 1_000 / 100),
        s @ 1..60 => format!("{s}s"),
        s @ 60..3_600 => two(s / 60, "m", s % 60, "s"),
        s @ 3_600..172_800 => two(s / 3_600, "h", s / 60 % 60, "m"),
        s => two(s / 86_400, "d", s / 3_600 % 24, "h"),
    }
}

/// [`duration`] of a time that was measured.
pub fn took(time: Duration) -> String {
    duration(u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
}

/// A text as it appears on the screen: without escape sequences (ECMA-48) and control characters; the ends of its lines
/// and tabs stay.
pub fn without_controls(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' => match chars.next() {
                Some('[') => while chars.next().is_some_and(|c| !('@'..='~').contains(&c)) {},
                Some(']' | 'P' | '_' | '^') => {
                    while let Some(c) = chars.next() {
                        if c == '\u{7}' || (c == '\u{1b}' && chars.next_if_eq(&'\\').is_some()) {
                            break;
                        }
                    }
                }
                Some('(' | ')' | '#' | '%') => {
                    chars.next();
                }
                _ => {}
            },
            '\n' | '\t' => out.push(c),
            c if c.is_control() => {}
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_one_letter_is_seen_and_another_word_is_none() {
        let names = ["none", "idle", "auto-answer", "watcher", "wall", "timeout"];
        let slips = [
            ("idel", "idle"),
            ("ilde", "idle"),
            ("IDLE", "idle"),
            ("idl", "idle"),
            ("auto_anser", "auto-answer"),
            ("auto", "auto-answer"),
            ("wacher", "watcher"),
            ("timout", "timeout"),
            ("timeouts", "timeout"),
        ];
        for (word, meant) in slips {
            assert_eq!(suggest(word, names), Some(meant), "{word}");
        }
        for word in ["", "x", "xyzzy", "question", "permission", "ie", &"idle".repeat(1_000)] {
            assert_eq!(suggest(word, names), None, "{word}");
        }
        assert_eq!(suggest("pr4", ["pr3", "pr5"]), Some("pr3"), "the first of two that are as near");
    }

    #[test]
    fn a_short_list_is_shown_whole() {
        assert_eq!(one_of("nul", ["null", "pipe"]), "did you mean `null`? There are null, pipe");
        assert_eq!(one_of("xyzzy", ["null", "pipe"]), "there are null, pipe");
    }

    #[test]
    fn a_screen_shows_no_escape_sequence() {
        let shown = [
            ("\u{1b}[1;31mred\u{1b}[0m", "red"),
            ("\u{1b}]0;title\u{7}after", "after"),
            ("\u{1b}]0;title\u{1b}\\after", "after"),
            ("\u{1b}]0;a\u{1b}b\u{7}after", "after"),
            ("\u{1b}(Bplain", "plain"),
            ("one\ttwo\n\u{8}three", "one\ttwo\nthree"),
        ];
        for (text, seen) in shown {
            assert_eq!(without_controls(text), seen, "{text:?}");
        }
    }

    #[test]
    fn the_nearest_is_taken_before_one_that_only_begins_alike() {
        assert_eq!(suggest("text", ["text-without-end", "test", "text2"]), Some("test"));
        assert_eq!(suggest("row", ["row-diff-of-two", "rows"]), Some("rows"));
    }

    #[test]
    fn of_a_name_with_folders_a_part_is_enough() {
        let names = ["question/row-diff", "question/row-diff[blank]", "bash/ignores-term"];
        let part = |word| suggest_part(word, names);
        assert_eq!(part("row-dfif"), Some("row-diff"));
        assert_eq!(part("qestion/"), Some("question/"));
        assert_eq!(part("question/row-dif"), Some("question/row-diff"));
        assert_eq!(part("question/row-diff[blnak]"), Some("question/row-diff[blank]"));
        assert_eq!(part("ignore-term"), Some("ignores-term"));
        assert_eq!(part("nothing-at-all"), None);
        assert_eq!(part("question/nothing-at-all"), None);
    }

    #[test]
    fn one_is_no_plural() {
        let files = [0, 1, 2].map(|n| counted(n, "file"));
        assert_eq!(files, ["0 files", "1 file", "2 files"]);
        assert_eq!(counted_as(1_usize, "hash", "hashes"), "1 hash");
        assert_eq!(counted_as(2_u64, "hash", "hashes"), "2 hashes");
    }

    #[test]
    fn a_duration_has_two_units_at_most() {
        let days = 24 * 3_600_000;
        let all = [
            0,
            999,
            1_000,
            1_099,
            1_250,
            59_999,
            60_000,
            90_500,
            3_600_000,
            14_460_250,
            days,
            2 * days,
            3 * days / 2 * 5,
        ];
        let said = all.map(duration);
        let wanted = ["0ms", "999ms", "1s", "1s", "1.2s", "59.9s", "1m", "1m30s", "1h", "4h1m", "24h", "2d", "7d12h"];
        assert_eq!(said, wanted);
    }

    #[test]
    fn control_sequences_are_no_text() {
        assert_eq!(without_controls("\u{1b}]0;title\u{7}a\u{1b}[31mb\u{1b}[0m\r\nc\u{1b}(B"), "ab\nc");
    }
}
