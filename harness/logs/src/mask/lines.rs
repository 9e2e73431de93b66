//! Secrets that span several lines, in logs that are read line by line.
//!
//! Invariant: the state is a few numbers, and a key whose end never comes ends after a bounded number of lines.

use super::rules::NAMES;
use regex::Regex;
use std::sync::LazyLock;

/// How many lines in a row may be shorter than a full line within a private key: its headers, its last line, an empty
/// one.
const SHORT_LINES: u32 = 8;
/// The most lines of a private key: twice those of an RSA key of 16,384 bits.
const KEY_LINES: u32 = 512;
/// The least number of characters in a full line of a key; programs write 64, 70 or 76.
const LINE_CHARS: usize = 40;

/// The name of a secret at a line's end, without a value: the value is on the next line.
static NAMED: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(&format!(r#"(?i){NAMES}["']?[ \x{{a0}}]*[:=][ \x{{a0}}]*[|>]?[+-]?[ \x{{a0}}]*$"#)).ok()
});

/// A list's item that is named like a secret: its value is on the next line.
static ITEM: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(&format!(r#"(?i)\bname["']?[ ]*[:=][ ]*["']?[\w.-]*{NAMES}["']?[ ]*,?[ ]*$"#)).ok());

/// What the lines so far say of the next one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Lines {
    state: State,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum State {
    #[default]
    Outside,
    /// Within a private key: its lines so far, and the short ones in a row.
    Key { lines: u32, short: u32 },
    /// After a secret's name.
    Named,
    /// After an item that is named like a secret.
    Item,
}

/// The part of a line that belongs to a secret which began on an earlier line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Nothing.
    None,
    /// This many bytes from the line's beginning belong to a private key.
    Key(usize),
    /// The whole line is a secret's value.
    Value,
}

impl Lines {
    /// Takes the next line, without its end.
    pub fn take(&mut self, line: &str) -> Part {
        let (part, rest) = match self.state {
            State::Key { lines, short } => {
                if let Some(end) = end(line) {
                    (Part::Key(end), &line[end..])
                } else {
                    let short = if full(line) { 0 } else { short + 1 };
                    if short <= SHORT_LINES && lines < KEY_LINES {
                        self.state = State::Key { lines: lines + 1, short };
                        return Part::Key(line.len());
                    }
                    (Part::None, line)
                }
            }
            State::Named if value(line) => (Part::Value, ""),
            State::Item if item_value(line) => (Part::Value, ""),
            State::Named | State::Item | State::Outside => (Part::None, line),
        };
        self.state = match rest {
            rest if begins(rest) => State::Key { lines: 0, short: 0 },
            rest if named(rest) => State::Named,
            rest if item(rest) => State::Item,
            _ => State::Outside,
        };
        part
    }
}

/// Whether a private key begins on this line and does not end there.
fn begins(line: &str) -> bool {
    let armoured = || {
        let (_, begun) = line.rsplit_once("-----BEGIN ")?;
        let (kind, behind) = begun.split_once("-----")?;
        Some(kind.contains("PRIVATE KEY") && !behind.contains("-----END "))
    };
    line.contains("-----BEGIN ") && armoured() == Some(true)
        || line.contains("PuTTY-User-Key-File-") && !line.contains("Private-MAC:")
}

/// Where in a line a private key ends.
fn end(line: &str) -> Option<usize> {
    if line.contains("Private-MAC:") {
        return Some(line.len());
    }
    let behind = line.find("-----END ")? + "-----END ".len();
    Some(line[behind..].find("-----").map_or(line.len(), |at| behind + at + "-----".len()))
}

/// Whether a line has as many characters of a key as a full line.
fn full(line: &str) -> bool {
    let of_key = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'=');
    line.as_bytes().split(|b| !of_key(*b)).any(|run| run.len() >= LINE_CHARS)
}

fn named(line: &str) -> bool {
    let end = line.trim_end_matches([' ', '\u{a0}']);
    end.ends_with([':', '=', '|', '>', '-', '+']) && NAMED.as_ref().is_some_and(|named| named.is_match(end))
}

fn item(line: &str) -> bool {
    line.len() < 400 && line.contains("name") && ITEM.as_ref().is_some_and(|item| item.is_match(line))
}

/// Whether a line is an item's value.
fn item_value(line: &str) -> bool {
    let rest = line.trim_start().trim_start_matches(['"', '\'']);
    let rest = rest.strip_prefix("value").map(|rest| rest.trim_start_matches(['"', '\'', ' ']));
    rest.is_some_and(|rest| rest.starts_with([':', '=']))
}

/// Whether a line is an indented word.
fn value(line: &str) -> bool {
    let word = line.trim();
    line.starts_with([' ', '\t', '\u{a0}']) && word.len() >= 6 && !word.contains(' ')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(lines: &[&str]) -> Vec<Part> {
        let mut state = Lines::default();
        lines.iter().map(|line| state.take(line)).collect()
    }

    #[test]
    fn a_key_goes_from_its_begin_to_its_end() {
        let long = "b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAAB";
        let end = "-----END OPENSSH PRIVATE KEY-----";
        for begin in [
            "-----BEGIN OPENSSH PRIVATE KEY-----",
            "KEY='-----BEGIN RSA PRIVATE KEY-----MIIE",
            "web | -----BEGIN PGP PRIVATE KEY BLOCK-----",
        ] {
            assert_eq!(
                taken(&["x", begin, long, "", "abc=", &format!("{end}' next"), "next"]),
                [
                    Part::None,
                    Part::None,
                    Part::Key(long.len()),
                    Part::Key(0),
                    Part::Key(4),
                    Part::Key(end.len()),
                    Part::None
                ]
            );
        }
        let putty = taken(&["PuTTY-User-Key-File-3: x", "Private-Lines: 1", "AAAA", "Private-MAC: 00", "next"]);
        assert_eq!(putty[2..], [Part::Key(4), Part::Key(15), Part::None]);
        assert_eq!(taken(&["-----BEGIN CERTIFICATE-----", "MIIE"]), [Part::None, Part::None]);
        let both = format!("-----BEGIN PRIVATE KEY-----{long}-----END PRIVATE KEY-----");
        assert_eq!(taken(&[&both, "next"]), [Part::None, Part::None]);
    }

    #[test]
    fn what_only_names_a_key_hides_few_lines() {
        let mut state = Lines::default();
        assert_eq!(state.take("expected -----BEGIN PRIVATE KEY----- in it"), Part::None);
        let hidden = (0..100).filter(|_| state.take("connected to the database") != Part::None).count();
        assert_eq!(hidden, SHORT_LINES as usize);
        assert_eq!(state, Lines::default());
        let mut state = Lines::default();
        state.take("-----BEGIN PRIVATE KEY-----");
        let hidden = (0..2_000).filter(|_| state.take(&"a".repeat(64)) != Part::None).count();
        assert_eq!(hidden, KEY_LINES as usize);
    }

    #[test]
    fn a_value_may_be_on_the_line_behind_its_name() {
        assert_eq!(taken(&["db_password: |", "  hunter2", "next"]), [Part::None, Part::Value, Part::None]);
        assert_eq!(taken(&["password:", "  hunter2"]), [Part::None, Part::Value]);
        assert_eq!(taken(&["- name: DB_PASSWORD", "  value: a b", "x"]), [Part::None, Part::Value, Part::None]);
        assert_eq!(taken(&["\"name\": \"API_TOKEN\",", "\"value\": \"x\""]), [Part::None, Part::Value]);
        assert_eq!(taken(&["- name: REGION", "  value: eu"]), [Part::None, Part::None]);
        for lines in [
            ["password:", "hunter2"],
            ["password:", "  is it right"],
            ["files:", "  hunter2"],
            ["password", "  hunter2"],
        ] {
            assert_eq!(taken(&lines), [Part::None, Part::None], "{lines:?}");
        }
    }
}
