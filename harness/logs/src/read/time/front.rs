//! What loggers write in front of a line's time: marks, colours, levels, names.
//!
//! Invariant: only what a logger writes there is passed over; a word of a sentence is not.

/// How many bytes in front of a time are marks, blanks and colours, and whether a bracket is the last of them.
pub(super) fn decoration(text: &str) -> (usize, bool) {
    let mut at = 0;
    let mut opened = false;
    while let Some(c) = text[at..].chars().next() {
        if c == '\u{1b}' {
            let Some(len) = escape(&text[at..]) else { break };
            at += len;
            continue;
        }
        // `@` and `+` belong to a time
        if c.is_alphanumeric()
            || matches!(c, '@' | '+' | '<' | '/' | '.' | '$' | '%' | '_' | '\\' | '{' | '~' | '?' | '!')
        {
            break;
        }
        opened = matches!(c, '[' | '(') || opened && c == ' ';
        at += c.len_utf8();
    }
    (at, opened)
}

/// How many bytes an escape sequence of a terminal takes.
pub(super) fn escape(text: &str) -> Option<usize> {
    let rest = text.strip_prefix('\u{1b}')?;
    if let Some(csi) = rest.strip_prefix('[') {
        let end = csi.bytes().position(|b| (0x40..=0x7e).contains(&b)).filter(|end| *end < 24)?;
        return Some(2 + end + 1);
    }
    // `ESC _ bk;t=1777629600000 BEL`: up to the number
    rest.strip_prefix("_bk;t=").map(|_| 7)
}

/// A part in front of a time.
pub(super) struct Part {
    /// How many bytes it takes.
    pub(super) len: usize,
    /// It is a level.
    pub(super) named: bool,
}

/// The levels of loggers.
const LEVELS: [&str; 36] = [
    "trace",
    "debug",
    "debu",
    "dbg",
    "info",
    "inf",
    "information",
    "notice",
    "note",
    "warn",
    "warning",
    "wrn",
    "error",
    "erro",
    "err",
    "fatal",
    "fata",
    "ftl",
    "panic",
    "critical",
    "crit",
    "alert",
    "emerg",
    "verbose",
    "silly",
    "http",
    "log",
    "success",
    "severe",
    "fine",
    "finer",
    "finest",
    "config",
    "trc",
    "i",
    "d",
];

/// What a logger writes in front of a time: a level, a name with a bar, a priority, a stream's name, an address.
pub(super) fn part(text: &str) -> Option<Part> {
    let plain = |len: usize| Some(Part { len, named: false });
    // syslog's priority: `<34>`, `<34>1 `
    if let Some(rest) = text.strip_prefix('<') {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let rest = rest[digits..].strip_prefix('>').filter(|_| (1..=3).contains(&digits))?;
        return plain(text.len() - rest.strip_prefix("1 ").unwrap_or(rest).len());
    }
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '/' | '@' | '#');
    let len = text.find(|c: char| !is_word(c)).unwrap_or(text.len());
    let (word, rest) = text.split_at(len);
    if word.is_empty() || word.len() > 64 {
        return None;
    }
    let low = word.to_ascii_lowercase();
    if LEVELS.contains(&low.as_str()) {
        // `INFO:root:`
        let name = rest.strip_prefix(':').map_or(0, |rest| rest.find(|c: char| !is_word(c)).unwrap_or(0));
        let name = if name > 0 && rest[1 + name..].starts_with(':') { 1 + name } else { 0 };
        let first = word.as_bytes()[0].is_ascii_digit();
        return Some(Part { len: len + name, named: true }).filter(|_| !first);
    }
    let bar = rest.trim_start_matches(' ');
    // `agent-1  | `, `0|app  | `
    if bar.starts_with('|') {
        return plain(text.len() - bar.len() + 1);
    }
    // `1.2.3.4 - - [01/May/2026:10:00:00 +0000]`
    let user = rest.split('[').next().unwrap_or_default();
    if word.contains('.') && word.bytes().all(|b| b.is_ascii_digit() || b == b'.') && user.len() < rest.len().min(40) {
        return plain(len + user.len() + 1);
    }
    // `root - INFO - `
    if rest.starts_with(" - ") {
        return plain(len + 3);
    }
    // `agent[12]: `
    if let Some(inner) = rest.strip_prefix('[') {
        let digits = inner.bytes().take_while(u8::is_ascii_digit).count();
        return plain(len + digits + 2).filter(|_| digits > 0 && inner[digits..].starts_with("]:"));
    }
    // `12:M 01 May 2026 …`, as Redis writes it
    if word.bytes().all(|b| b.is_ascii_digit())
        && let Some(role) = rest.strip_prefix(':')
        && role.len() > 2
        && role.as_bytes()[0].is_ascii_uppercase()
        && role.as_bytes()[1] == b' '
    {
        return plain(len + 3);
    }
    if matches!(low.as_str(), "stdout" | "stderr") && rest.starts_with([' ', ':', '\t']) {
        return plain(len + 1);
    }
    // `job<TAB>step<TAB>time`
    if let Some(tab) = text.find('\t').filter(|tab| *tab <= 64) {
        return plain(tab + 1);
    }
    None
}
