//! Words for people: suggestions for mistyped names, counts with their nouns, durations.
//!
//! Pure, and in the lowest crate, so that every error and every report writes these alike.
//!
//! Invariant: a suggestion is one of the candidates, or, of names with folders, a part of one.

use std::time::Duration;

/// The most bytes of a mistyped name for which a suggestion is looked for.
pub const NAME_CHARS: usize = 200;

/// The candidate that a word was most likely meant to be; `None` if none is near. Among equally near ones the first.
///
/// A candidate is near if it begins with the word or the word begins with it (three characters at least), or if it
/// takes only a few characters to insert, remove, replace or swap with their neighbour: one, and above five characters
/// one in three, as in rustc. Upper and lower case, `_` and `-` are the same.
pub fn suggest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if word.len() > NAME_CHARS {
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
/// clause such as "`rehang list --strategies` lists them"; it may be empty.
///
/// ```
/// # use rehang_words::text::unknown;
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

/// A name or a line that somebody else wrote, as a terminal may show it: what the terminal would obey (C0 and C1 controls),
/// what changes the order of the text (bidirectional controls), and what takes no room each become a `\u{fffd}`.
pub fn visible(text: &str) -> String {
    text.chars().map(|c| if c.is_control() || is_unseen(c) { char::REPLACEMENT_CHARACTER } else { c }).collect()
}

/// Characters of no width, and those that turn the direction of a text (Unicode Standard Annex 9).
fn is_unseen(c: char) -> bool {
    let marks = matches!(c, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}');
    marks || matches!(c, '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
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

/// A word of the file, made safe for a sentence: short, and without control characters.
pub fn shown(word: &str) -> String {
    cut(word, 80)
}

/// The first characters of a text, made safe for a terminal; `…` follows if there are more.
pub fn cut(text: &str, chars: usize) -> String {
    let mut out = String::new();
    for (i, c) in text.chars().enumerate() {
        if i == chars {
            out.push('…');
            break;
        }
        match hidden(c) {
            true => out.extend(c.escape_default()),
            false => out.push(c),
        }
    }
    out
}

/// A foreign text in one line, made safe for a terminal: invisible characters are written out.
pub fn in_one_line(text: &str) -> String {
    cut(text, usize::MAX)
}

/// Whether a character is a control character, cannot be seen, or changes how its neighbours are shown.
pub fn hidden(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}')
        || matches!(c, '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
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
    fn a_foreign_name_is_shown_without_what_a_terminal_obeys() {
        let of = |text: &str| visible(text);
        assert_eq!(
            of("a\u{1b}]52;c;cHduZWQ=\u{7}b\u{9b}2J\u{9d}c\r\n"),
            "a\u{fffd}]52;c;cHduZWQ=\u{fffd}b\u{fffd}2J\u{fffd}c\u{fffd}\u{fffd}"
        );
        for c in ['\u{61c}', '\u{200e}', '\u{202a}', '\u{202e}', '\u{2066}', '\u{2069}', '\u{feff}', '\u{e0041}'] {
            assert_eq!(of(&format!("a{c}b")), "a\u{fffd}b", "{c:?}");
        }
        assert_eq!(of("café — 日本語 عربي"), "café — 日本語 عربي");
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

    #[test]
    fn how_many_letters_may_differ_grows_with_the_word() {
        let near = |word: &str, name: &str| suggest(word, [name]).is_some();
        // one letter up to five, two from six, three from nine; a single letter must be the same
        assert_eq!([near("a", "b"), near("a", "A"), near("ab", "ac"), near("ab", "cd")], [false, true, true, false]);
        assert_eq!([near("abcde", "xbcde"), near("abcde", "xycde")], [true, false]);
        assert_eq!([near("abcdef", "xycdef"), near("abcdef", "xyzdef")], [true, false]);
        assert_eq!([near("abcdefghi", "xyzdefghi"), near("abcdefghi", "xyzwefghi")], [true, false]);
        // one begins with the other, from three letters on
        assert_eq!([near("abc", "abcdefghi"), near("ab", "abcdefghi")], [true, false]);
        assert_eq!([near("abcdefghi", "abc"), near("abcdefghi", "ab")], [true, false]);
        assert!(near("A_b_C", "a-B-c"));
        let most = NAME_CHARS;
        assert_eq!([most, most + 1].map(|chars| near(&"a".repeat(chars), "aaa")), [true, false]);
        assert_eq!(suggest("abc", []), None);
    }

    #[test]
    fn an_unknown_name_says_what_there_is_instead() {
        assert_eq!(unknown("x", "a\u{1b}", None, ""), "no x is called `a\\u{1b}`");
        assert_eq!([or(None, ""), or(None, "all"), or(Some("b"), "")], ["", "; all", "; did you mean `b`?"]);
        assert_eq!(instead(Some("b"), "there are b"), "did you mean `b`? There are b");
        assert_eq!([instead(None, "there are b"), instead(None, "")], ["there are b", ""]);
        assert_eq!([sentence(""), sentence("é a")], ["", "É a"]);
    }

    #[test]
    fn a_measured_time_is_a_duration() {
        assert_eq!([took(Duration::from_micros(1_999)), took(Duration::from_millis(61_000))], ["1ms", "1m1s"]);
        assert_eq!(took(Duration::MAX), duration(u64::MAX));
        let said = [1_100, 60_999, 61_000, 3_599_999, 3_660_000, 172_799_999, 172_800_000, 176_400_000].map(duration);
        assert_eq!(said, ["1.1s", "1m", "1m1s", "59m59s", "1h1m", "47h59m", "2d", "2d1h"]);
    }

    #[test]
    fn each_kind_of_escape_sequence_has_its_end() {
        let rows = [
            ("a\u{1b}[@b", "ab"),
            ("a\u{1b}[12;5~b", "ab"),
            ("a\u{1b}[", "a"),
            ("a\u{1b}Pdata\u{1b}\\b", "ab"),
            ("a\u{1b}_data\u{7}b", "ab"),
            ("a\u{1b}^data\u{7}b", "ab"),
            ("a\u{1b}]data", "a"),
            ("a\u{1b}]da\\ta\u{7}b", "ab"),
            ("a\u{1b}#8b", "ab"),
            ("a\u{1b}%Gb", "ab"),
            ("a\u{1b})0b", "ab"),
            ("a\u{1b}7b", "ab"),
            ("a\u{1b}", "a"),
            ("a\r\n\tb\u{7f}\u{9b}c", "a\n\tbc"),
        ];
        for (text, seen) in rows {
            assert_eq!(without_controls(text), seen, "{text:?}");
        }
    }

    #[test]
    fn a_part_of_a_name_is_one_without_its_variant() {
        assert_eq!(suggest_part("alone", ["alone[x]"]), Some("alone"));
        assert_eq!(suggest_part("alone[y]", ["alone[x]"]), Some("alone[x]"));
        assert_eq!(suggest_part("deep", ["a/b/deep[x]"]), Some("deep"));
        assert_eq!(suggest_part("a/b/", ["a/b/deep"]), Some("a/b/deep"), "it begins like the whole name");
        assert_eq!(suggest_part("qestion/", ["question/row"]), Some("question/"));
    }
}
