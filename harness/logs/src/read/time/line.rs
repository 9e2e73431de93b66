//! The time in front of a line: where it is, and what comes after it.
//!
//! Invariant: what may come before a time is a level, a name or a number that a logger writes there. A time in the middle
//! of a sentence, or of a list of files, is not the line's.

use super::shapes::{Found, HEAD_BYTES, Since, dated, ends, moment};
use super::{LAST_SECOND, number_ms};

/// A line's own time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp<'a> {
    /// Milliseconds since its origin.
    pub ms: u64,
    /// Its origin.
    pub since: Since,
    /// The line after the time.
    pub text: &'a str,
}

/// A line's own time before its text: `2026-11-20T12:20:26.066Z text`, `I1120 12:20:26.066 1 x.go:1] text`.
pub fn stamped(line: &str) -> Option<(u64, &str)> {
    find(line).map(|stamp| (stamp.ms, stamp.text))
}

/// The time that a line begins with, or that comes after what loggers write in front of it.
pub fn find(line: &str) -> Option<Stamp<'_>> {
    let mut end = line.len().min(HEAD_BYTES);
    while !line.is_char_boundary(end) {
        end -= 1;
    }
    let head = &line[..end];
    if line.trim_start().starts_with('{') {
        return None;
    }
    let (found, from) = in_front(head).or_else(|| member(head))?;
    Some(Stamp { ms: found.ms, since: found.since, text: after(&line[from + found.len..]) })
}

/// What comes after a time, without what closes it.
fn after(text: &str) -> &str {
    let rest = text.trim_start_matches([']', ')', '"', '\'', '>', '\u{1b}', '\u{7}']);
    let rest = if text.starts_with("\u{1b}[") { escape(text).map_or(rest, |len| &text[len..]) } else { rest };
    let rest = rest.strip_prefix([':', ',', ';']).unwrap_or(rest);
    rest.strip_prefix([' ', '\t']).unwrap_or(rest)
}

/// A time at a line's begin, or after what loggers write in front of it: its place is returned as well.
fn in_front(head: &str) -> Option<(Found, usize)> {
    let mut at = 0;
    let mut named = false;
    for _ in 0..PARTS {
        let (open, opened) = decoration(&head[at..]);
        at += open;
        let rest = &head[at..];
        if let Some(found) = begins(rest, opened, named) {
            return Some((found, at));
        }
        let part = part(rest)?;
        named |= part.named;
        at += part.len;
    }
    None
}

/// The most that loggers write in front of a time, in parts. A choice.
const PARTS: usize = 6;

/// What a text begins with.
fn begins(text: &str, opened: bool, named: bool) -> Option<Found> {
    if let Some(found) = klog(text) {
        return Some(found);
    }
    if let Some(found) = moment(text) {
        // hours and minutes alone are a time at the line's begin only
        return (found.since != Since::Either || !named && at_begin(&text[found.len..], opened)).then_some(found);
    }
    number(text, opened, named)
}

/// Whether hours and minutes that this comes after are a time.
fn at_begin(rest: &str, opened: bool) -> bool {
    rest.starts_with([']', ')']) || !opened && rest.starts_with([' ', '\t']) || rest.starts_with(": ")
}

/// `I0501 10:00:00.000000`, `I20260501 10:00:00.000`.
fn klog(text: &str) -> Option<Found> {
    let letter = text.bytes().next().filter(|b| b"IWEFDVTNC".contains(b))?;
    let digits = text[1..].bytes().take_while(u8::is_ascii_digit).count();
    debug_assert!(letter.is_ascii());
    let found = match digits {
        4 => {
            let with_mark = format!("{}-{}", &text[1..3], &text[3..]);
            let found = dated(&with_mark).filter(|found| found.since == Since::Year)?;
            Found { len: found.len - 1, ..found }
        }
        8 => dated(&text[1..])?,
        _ => return None,
    };
    Some(Found { len: found.len + 1, ..found })
}

/// A number that is a time: seconds since 1970 or finer, seconds since the begin, a span.
fn number(text: &str, opened: bool, named: bool) -> Option<Found> {
    if let Some(label) = text.strip_prefix('@').and_then(tai64n) {
        return Some(label);
    }
    let plus = text.len() - text.strip_prefix("T+").or_else(|| text.strip_prefix('+')).unwrap_or(text).len();
    let text = &text[plus..];
    let whole = text.bytes().take_while(u8::is_ascii_digit).count();
    let fraction = text[whole..].strip_prefix(['.', ',']).map_or(0, |rest| rest.bytes().take_while(u8::is_ascii_digit).count());
    let len = whole + if fraction > 0 { 1 + fraction } else { 0 };
    if whole == 0 || whole > 19 {
        return None;
    }
    let value: f64 = text[..len].replace(',', ".").parse().ok()?;
    let found = |ms: u64, since, len| Some(Found { ms, since, len: plus + len });
    let rest = &text[len..];
    let absolute = matches!(whole, 10 | 13 | 16 | 19).then(|| number_ms(value)).flatten();
    if let Some(ms) = absolute.filter(|ms| (1_000_000_000_000..LAST_SECOND * 1_000).contains(ms)) {
        return (ends(rest) && rest.starts_with([' ', '\t', ']', ')', ':', ',', '|', '>', '"'])).then_some(())
            .and_then(|()| found(ms, Since::Epoch, len));
    }
    if let Some((ms, len)) = span(text).filter(|_| opened || plus > 0) {
        return found(ms, Since::Begin, len);
    }
    // `[   12.345678]` of a kernel, `INFO[0540]`
    let closes = rest.starts_with([']', ')']);
    let kernel = opened && closes && fraction >= 2;
    let counted = plus > 0 && (closes || rest.starts_with([' ', '\t', ':']));
    let of_level = named && opened && closes && whole >= 4 && fraction == 0;
    let ms = number_ms(value).filter(|_| value < 1e8);
    ms.filter(|_| kernel || counted || of_level).and_then(|ms| found(ms, Since::Begin, len))
}

/// A span: `9m0s`, `1h 2m 3.5s`, `540.1s`, `540ms`.
fn span(text: &str) -> Option<(u64, usize)> {
    let (mut at, mut total, mut any) = (0, 0.0_f64, false);
    for _ in 0..4 {
        let rest = &text[at..];
        let rest = if any { rest.strip_prefix(' ').unwrap_or(rest) } else { rest };
        let from = text.len() - rest.len();
        let len = rest.bytes().take_while(|b| b.is_ascii_digit() || *b == b'.').count();
        let Ok(value) = rest[..len].parse::<f64>() else { break };
        let letters = rest[len..].bytes().take_while(u8::is_ascii_alphabetic).count();
        let unit = match &rest[len..len + letters] {
            "d" => 86_400_000.0,
            "h" => 3_600_000.0,
            "m" | "min" => 60_000.0,
            "s" | "sec" => 1_000.0,
            "ms" => 1.0,
            _ => break,
        };
        (total, any) = (total + value * unit, true);
        at = from + len + letters;
    }
    (any && total < 1e11 && ends(&text[at..])).then_some((total.round() as u64, at))
}

/// A label of TAI64N, as `tai64n` and s6 write it, after its `@`: seconds since 1970 plus 2^62 and ten, nanoseconds.
fn tai64n(text: &str) -> Option<Found> {
    let digits = text.bytes().take_while(u8::is_ascii_hexdigit).count();
    if digits != 24 {
        return None;
    }
    let seconds = u64::from_str_radix(&text[..16], 16).ok()?.checked_sub((1 << 62) + 10)?;
    let nanos = u64::from_str_radix(&text[16..24], 16).ok()?;
    let ms = seconds.checked_mul(1_000)?.checked_add(nanos / 1_000_000)?;
    (seconds < LAST_SECOND).then_some(Found { ms, since: Since::Epoch, len: 25 })
}

/// How many bytes in front of a time are marks, blanks and colours, and whether a bracket is the last of them.
fn decoration(text: &str) -> (usize, bool) {
    let mut at = 0;
    let mut opened = false;
    while let Some(c) = text[at..].chars().next() {
        if c == '\u{1b}' {
            let Some(len) = escape(&text[at..]) else { break };
            at += len;
            continue;
        }
        // `@` and `+` belong to a time
        if c.is_alphanumeric() || matches!(c, '@' | '+' | '<' | '/' | '.' | '$' | '%' | '_' | '\\' | '{' | '~' | '?' | '!') {
            break;
        }
        opened = matches!(c, '[' | '(') || opened && c == ' ';
        at += c.len_utf8();
    }
    (at, opened)
}

/// How many bytes an escape sequence of a terminal takes.
fn escape(text: &str) -> Option<usize> {
    let rest = text.strip_prefix('\u{1b}')?;
    if let Some(csi) = rest.strip_prefix('[') {
        let end = csi.bytes().position(|b| (0x40..=0x7e).contains(&b)).filter(|end| *end < 24)?;
        return Some(2 + end + 1);
    }
    // `ESC _ bk;t=1777629600000 BEL`: up to the number
    rest.strip_prefix("_bk;t=").map(|_| 7)
}

/// A part in front of a time.
struct Part {
    len: usize,
    /// It is a level.
    named: bool,
}

/// The levels of loggers.
const LEVELS: [&str; 36] = [
    "trace", "debug", "debu", "dbg", "info", "inf", "information", "notice", "note", "warn", "warning", "wrn", "error", "erro",
    "err", "fatal", "fata", "ftl", "panic", "critical", "crit", "alert", "emerg", "verbose", "silly", "http", "log", "success",
    "severe", "fine", "finer", "finest", "config", "trc", "i", "d",
];

/// What a logger writes in front of a time: a level, a name with a bar, a priority, a stream's name, an address.
fn part(text: &str) -> Option<Part> {
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
    // `[pod/x/agent] `, `[main] `: a group
    if rest.starts_with(']') || rest.starts_with(')') {
        return plain(len + 1);
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
    if matches!(low.as_str(), "stdout" | "stderr" | "out" | "at") && rest.starts_with([' ', ':', '\t']) {
        return plain(len + 1);
    }
    // `job<TAB>step<TAB>time`
    if let Some(tab) = text.find('\t').filter(|tab| *tab <= 64) {
        return plain(tab + 1);
    }
    // `1.2.3.4 - - [01/May/2026:10:00:00 +0000]`
    let address = word.contains('.') && word.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let user = rest.split('[').next().unwrap_or_default();
    (address && rest.contains('[') && user.len() <= 40).then_some(Part { len: len + user.len() + 1, named: false })
}

/// Names of a member that is a line's time.
const NAMES: [&str; 13] = [
    "time", "ts", "timestamp", "t", "@timestamp", "datetime", "asctime", "when", "date", "at", "eventtime", "log_time", "_time",
];

/// The time of a line of members: `level=info ts=2026-05-01T10:00:00Z msg=…`.
fn member(head: &str) -> Option<(Found, usize)> {
    let bytes = head.as_bytes();
    for at in memchr::memchr_iter(b'=', bytes) {
        let from = head[..at].rfind(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '@' | '.'))).map_or(0, |place| {
            place + head[place..].chars().next().map_or(1, char::len_utf8)
        });
        let name = head[from..at].to_ascii_lowercase();
        if !NAMES.contains(&name.as_str()) {
            continue;
        }
        let begin = at + 1 + usize::from(matches!(bytes.get(at + 1), Some(b'"' | b'\'' | b'[')));
        let rest = head.get(begin..)?;
        // `date=2026-05-01 time=10:00:00`
        if name == "date"
            && let Some((date, clock)) = rest.split_once(' ')
            && let Some(clock) = clock.strip_prefix("time=").map(|c| c.trim_start_matches('"'))
            && let Some(found) = dated(&format!("{} {clock}", date.trim_end_matches('"')))
        {
            let skipped = rest.len() - clock.len();
            let taken = found.len.saturating_sub(date.trim_end_matches('"').len() + 1);
            return Some((Found { len: skipped + taken, ..found }, begin));
        }
        if let Some(found) = moment(rest).or_else(|| epoch(rest)) {
            return Some((found, begin));
        }
    }
    None
}

/// A number of a member: an instant since 1970, or seconds since the begin.
fn epoch(text: &str) -> Option<Found> {
    let len = text.bytes().take_while(|b| b.is_ascii_digit() || *b == b'.').count();
    let value: f64 = text[..len].parse().ok()?;
    let ms = number_ms(value).filter(|_| ends(&text[len..]))?;
    let since = if ms >= 1_000_000_000_000 { Since::Epoch } else { Since::Begin };
    Some(Found { ms, since, len })
}

/// Times of one log, one after the other: makes instants of clocks that begin again at midnight, and of dates without a
/// year.
#[derive(Debug, Clone, Copy, Default)]
pub struct Clocks {
    last: Option<(Since, u64)>,
    /// What is added since a clock began again, in milliseconds.
    turned: u64,
    /// Two numbers are minutes and seconds.
    of_run: Option<bool>,
}

const DAY_MS: u64 = 86_400_000;

impl Clocks {
    /// The instant of a time; `None` if it has another origin than those before it.
    pub fn instant(&mut self, stamp: &Stamp<'_>) -> Option<u64> {
        let mut ms = stamp.ms;
        let mut since = stamp.since;
        if since == Since::Either {
            // `00:05` at the log's begin counts the run's minutes: hours would make silences longer than they were
            let of_run = *self.of_run.get_or_insert(ms < 3_600_000);
            (ms, since) = if of_run { (ms / 60, Since::Begin) } else { (ms, Since::Midnight) };
        }
        let turn = match since {
            Since::Midnight => DAY_MS,
            Since::Year => 365 * DAY_MS,
            Since::Epoch | Since::Begin | Since::Either => 0,
        };
        let (of, last) = *self.last.get_or_insert((since, ms));
        if of != since {
            return None;
        }
        if last > ms && last - ms > turn / 2 {
            self.turned = self.turned.saturating_add(turn);
        }
        self.last = Some((since, ms));
        Some(ms.saturating_add(self.turned))
    }
}
