//! The shapes in which logs write dates and clocks, as tables.
//!
//! Invariant: a shape that fits takes bytes from a place in the line's first [`HEAD_BYTES`] alone; no number overflows.
//!
//! A shape is written in letters: `Y` a year of four digits, `y` one of two, `M` and `D` a month and a day of two digits,
//! `m` and `d` of one or two (a blank may replace the first), `B` a month's name, `J` the day of the year, `H` an hour of
//! two digits, `h` of one or two, `I` minutes, `S` seconds. Any other character is itself.

use super::days;

/// How much of a line is looked at for a time, in bytes. A choice: loggers put the time in front.
pub(super) const HEAD_BYTES: usize = 240;

/// Dates; of several that fit, the first. A day in front of a month, or behind it, is told by the numbers if it can be.
const DATES: [&str; 20] = [
    "Y-M-D",
    "Y/M/D",
    "Y.M.D",
    "Y年M月D日",
    "YMD",
    "Y-J",
    "Y-m-d",
    "Y/m/d",
    "d-B-Y",
    "d/B/Y",
    "d B Y",
    "d-B-y",
    "B d, Y",
    "B d Y",
    "d.m.Y",
    "m/d/Y",
    "m-d-Y",
    "d.m.y",
    "y/M/D",
    "m/d/y",
];
/// Dates without a year, which only count with a clock of seconds after them.
const YEARLESS: [&str; 4] = ["B d", "d B", "M-D", "M/D"];
/// Six digits, which only count with a clock after them: `260501 10:00:00`.
const SHORT: &str = "yMD";
/// What is between a date and its clock.
const BETWEEN: [&str; 14] = ["T", "t", " ", "  ", "\",\"", ", ", ",", "_", "-", "::", ":", " at ", "\t", ""];
/// Clocks.
const CLOCKS: [&str; 2] = ["h:I:S", "h:I"];
/// Clocks that only count after a date.
const DATED_CLOCKS: [&str; 4] = ["HIS", "H-I-S", "H.I.S", "HI"];
const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];
const WEEKDAYS: [&str; 7] = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];
/// Names of zones and their offsets in minutes. A name that stands for several zones has the offset of one of them: a
/// log keeps to one.
const ZONES: [(&str, i64); 34] = [
    ("UTC", 0),
    ("GMT", 0),
    ("Z", 0),
    ("WET", 0),
    ("WEST", 60),
    ("BST", 60),
    ("CET", 60),
    ("CEST", 120),
    ("MEZ", 60),
    ("MESZ", 120),
    ("EET", 120),
    ("EEST", 180),
    ("SAST", 120),
    ("MSK", 180),
    ("IST", 330),
    ("PKT", 300),
    ("WIB", 420),
    ("HKT", 480),
    ("SGT", 480),
    ("AWST", 480),
    ("JST", 540),
    ("KST", 540),
    ("AEST", 600),
    ("AEDT", 660),
    ("NZST", 720),
    ("NZDT", 780),
    ("BRT", -180),
    ("EST", -300),
    ("EDT", -240),
    ("CST", -360),
    ("CDT", -300),
    ("MST", -420),
    ("PST", -480),
    ("PDT", -420),
];

/// What the origin of a time is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Since {
    /// 1970.
    Epoch,
    /// The begin of a year that is not said; the next begin is 365 days later.
    Year,
    /// Midnight.
    Midnight,
    /// Midnight, or the begin of the run: hours and minutes, or minutes and seconds.
    Either,
    /// The begin of the run, or of the machine.
    Begin,
}

/// A time within a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    /// Milliseconds since its origin.
    pub ms: u64,
    /// Its origin.
    pub since: Since,
    /// How many bytes it takes.
    pub len: usize,
}

/// What a date or a clock says.
#[derive(Debug, Clone, Copy, Default)]
struct Parts {
    year: Option<u64>,
    month: u64,
    day: u64,
    of_year: Option<u64>,
    hours: u64,
    minutes: u64,
    seconds: Option<u64>,
    /// Milliseconds of a second.
    fraction: u64,
}

/// The date and the clock, or the clock alone, that a text begins with.
pub(super) fn moment(text: &str) -> Option<Found> {
    dated(text).or_else(|| clock_alone(text))
}

/// The date and the clock that a text begins with.
pub(super) fn dated(text: &str) -> Option<Found> {
    if let Some(found) = compact(text) {
        return Some(found);
    }
    let begin = weekday(text);
    let rest = &text[begin..];
    let years = DATES.iter().map(|shape| (*shape, true));
    let all = years.chain(YEARLESS.iter().map(|shape| (*shape, false))).chain([(SHORT, true)]);
    for (shape, has_year) in all {
        let mut parts = Parts::default();
        let Some(end) = matched(shape, rest, &mut parts) else { continue };
        let Some((mut clock, clocked)) = clock_after(&rest[end..], shape) else { continue };
        if !has_year || shape == SHORT {
            clock.seconds?;
        }
        (clock.year, clock.month, clock.day, clock.of_year) = (parts.year, parts.month, parts.day, parts.of_year);
        let mut len = end + clocked;
        let (zone, offset) = zone(&rest[len..]);
        len += zone;
        // `Fri May  1 10:00:00 UTC 2026`
        if let Some(year) = year_after(&rest[len..]).filter(|_| !has_year) {
            clock.year = Some(year);
            len += 5;
        }
        if !ends(&rest[len..]) {
            continue;
        }
        let since = if clock.year.is_some() { Since::Epoch } else { Since::Year };
        let Some(ms) = ms_of(&clock) else { continue };
        let ms = if since == Since::Epoch { ms.saturating_add_signed(-offset * 60_000) } else { ms };
        return Some(Found { ms, since, len: begin + len });
    }
    None
}

/// Fourteen digits: `20260501100000`.
fn compact(text: &str) -> Option<Found> {
    if text.bytes().take_while(u8::is_ascii_digit).count() != 14 {
        return None;
    }
    let mut parts = Parts::default();
    let number = |from: usize, len: usize| digits(&text[from..], len, len).map(|(number, _)| number);
    (parts.year, parts.month, parts.day) = (number(0, 4), number(4, 2)?, number(6, 2)?);
    (parts.hours, parts.minutes, parts.seconds) = (number(8, 2)?, number(10, 2)?, number(12, 2));
    let (len, ms) = fraction(&text[14..]);
    parts.fraction = ms;
    let (zone, offset) = zone(&text[14 + len..]);
    let len = 14 + len + zone;
    let ms = ms_of(&parts)?.saturating_add_signed(-offset * 60_000);
    ends(&text[len..]).then_some(Found { ms, since: Since::Epoch, len })
}

/// The clock that a text begins with, without a date.
fn clock_alone(text: &str) -> Option<Found> {
    let mut parts = Parts::default();
    let mut end = CLOCKS.iter().find_map(|shape| matched(shape, text, &mut parts))?;
    if parts.seconds.is_some() {
        let (len, ms) = fraction(&text[end..]);
        (end, parts.fraction) = (end + len, ms);
    }
    let half = noon(&text[end..], &mut parts.hours);
    end += half;
    end += zone(&text[end..]).0;
    // `1:2` is a count, `src/x.rs:10:20` a place
    let two_digits = text.as_bytes().get(1).is_some_and(u8::is_ascii_digit);
    if !ends(&text[end..]) || parts.seconds.is_none() && !two_digits && half == 0 {
        return None;
    }
    let since = match parts.seconds {
        None if half == 0 => Since::Either,
        _ => Since::Midnight,
    };
    (parts.year, parts.month, parts.day) = (Some(1970), 1, 1);
    Some(Found { ms: ms_of(&parts)?, since, len: end })
}

/// The clock after a date, and how many bytes it takes with what is between them.
fn clock_after(text: &str, date: &str) -> Option<(Parts, usize)> {
    BETWEEN.iter().filter(|between| text.starts_with(**between)).find_map(|between| {
        let rest = &text[between.len()..];
        CLOCKS.iter().chain(&DATED_CLOCKS).find_map(|shape| {
            if between.is_empty() && !date.ends_with('日') {
                return None;
            }
            let mut parts = Parts::default();
            let mut end = matched(shape, rest, &mut parts)?;
            // four digits after a blank are a number
            if *shape == "HI" && !(matches!(*between, "T" | "t") && date == "YMD") {
                return None;
            }
            if parts.seconds.is_some() {
                let (len, ms) = fraction(&rest[end..]);
                (end, parts.fraction) = (end + len, ms);
            }
            end += noon(&rest[end..], &mut parts.hours);
            Some((parts, between.len() + end))
        })
    })
}

/// Milliseconds of a date and a clock.
fn ms_of(parts: &Parts) -> Option<u64> {
    let seconds = parts.seconds.unwrap_or(0);
    if parts.hours > 24 || parts.minutes > 59 || seconds > 60 {
        return None;
    }
    let days = match (parts.year, parts.of_year) {
        (Some(year), Some(nth)) if (1..=366).contains(&nth) => days(year, 1, 1)? + nth - 1,
        (_, Some(_)) => return None,
        (Some(year), None) => days(year, parts.month, parts.day)?,
        // a year of 365 days: a day too many would be a silence that was not
        (None, None) => days(1973, parts.month, parts.day)? - days(1973, 1, 1)?,
    };
    Some(((days * 24 + parts.hours) * 60 + parts.minutes) * 60_000 + seconds * 1_000 + parts.fraction)
}

/// Matches a shape at the begin of a text: how many bytes it takes.
fn matched(shape: &str, text: &str, into: &mut Parts) -> Option<usize> {
    let mut parts = *into;
    let mut at = 0;
    for letter in shape.chars() {
        let rest = text.get(at..)?;
        let (number, len) = match letter {
            'Y' => digits(rest, 4, 4)?,
            'J' => digits(rest, 3, 3)?,
            'y' | 'M' | 'D' | 'H' | 'I' | 'S' => digits(rest, 2, 2)?,
            'm' | 'h' => digits(rest, 1, 2)?,
            'd' => match rest.strip_prefix(' ') {
                Some(rest) => digits(rest, 1, 1).map(|(day, _)| (day, 2))?,
                None => digits(rest, 1, 2)?,
            },
            'B' => name(rest, &MONTHS).map(|(month, len)| (month + 1, len))?,
            literal => {
                if !rest.starts_with(literal) {
                    return None;
                }
                at += literal.len_utf8();
                continue;
            }
        };
        match letter {
            'Y' => parts.year = Some(number),
            'y' => parts.year = Some(2_000 + number),
            'J' => parts.of_year = Some(number),
            'M' | 'm' | 'B' => parts.month = number,
            'D' | 'd' => parts.day = number,
            'H' | 'h' => parts.hours = number,
            'I' => parts.minutes = number,
            _ => parts.seconds = Some(number),
        }
        at += len;
    }
    // a number that goes on is another one
    if text[at..].starts_with(|c: char| c.is_ascii_digit()) && shape.ends_with(|c: char| c != '日') {
        return None;
    }
    if parts.month > 12 && parts.day <= 12 && shape.starts_with('m') {
        (parts.month, parts.day) = (parts.day, parts.month);
    }
    let is_clock = shape.contains('I');
    let sound = match is_clock {
        true => parts.hours <= 24 && parts.minutes <= 59 && parts.seconds.is_none_or(|s| s <= 60),
        false => parts.of_year.is_some() || (1..=12).contains(&parts.month) && (1..=31).contains(&parts.day),
    };
    let year = parts.year.is_none_or(|year| (1_970..=9_999).contains(&year));
    if !sound || !year {
        return None;
    }
    *into = parts;
    Some(at)
}

/// The number that a text begins with, of this many digits, and its length.
fn digits(text: &str, least: usize, most: usize) -> Option<(u64, usize)> {
    let len = text.bytes().take(most).take_while(u8::is_ascii_digit).count();
    if len < least {
        return None;
    }
    text[..len].parse().ok().map(|number| (number, len))
}

/// The name of a list that a text begins with, whole or its first three letters: its place, and its length.
fn name(text: &str, names: &[&str]) -> Option<(u64, usize)> {
    let len = text.bytes().take_while(u8::is_ascii_alphabetic).count();
    let word = text[..len].to_ascii_lowercase();
    let is = |name: &&str| len >= 3 && name.starts_with(&word) && (len == name.len() || len <= 4);
    let place = names.iter().position(is)?;
    // `Sept.`
    let dot = usize::from(text[len..].starts_with(". "));
    Some((place as u64, len + dot))
}

/// How many bytes a weekday takes at the begin of a text, with what comes between it and the date.
fn weekday(text: &str) -> usize {
    let Some((_, len)) = name(text, &WEEKDAYS) else { return 0 };
    let rest = &text[len..];
    let after = rest.trim_start_matches([',', ' ', '.']);
    // a day of one digit may have a blank of its own
    let taken = rest.len() - after.len();
    if taken == 0 { 0 } else { len + taken }
}

/// A fraction of a second: how many bytes it takes, and its milliseconds.
fn fraction(text: &str) -> (usize, u64) {
    let Some(mark) = text.chars().next().filter(|c| matches!(c, '.' | ',' | ':')) else { return (0, 0) };
    let len = text[1..].bytes().take_while(u8::is_ascii_digit).count();
    let fits = match mark {
        ':' => len == 3,
        ',' => (1..=9).contains(&len),
        _ => len >= 1,
    };
    if !fits {
        return (0, 0);
    }
    let padded = format!("{:0<3}", &text[1..1 + len.min(3)]);
    (1 + len, padded.parse().unwrap_or(0))
}

/// Half a day: how many bytes it takes; the hour is made one of 24.
fn noon(text: &str, hours: &mut u64) -> usize {
    let rest = text.trim_start_matches([' ', '\u{202f}', '\u{a0}']);
    let blanks = text.len() - rest.len();
    let low: String = rest.chars().take(4).collect::<String>().to_ascii_lowercase();
    let (len, later) = match () {
        () if low.starts_with("a.m.") => (4, false),
        () if low.starts_with("p.m.") => (4, true),
        () if low.starts_with("am") => (2, false),
        () if low.starts_with("pm") => (2, true),
        () => return 0,
    };
    let goes_on = rest[len..].starts_with(|c: char| c.is_alphanumeric());
    if blanks > 3 || goes_on || !(1..=12).contains(hours) {
        return 0;
    }
    *hours = *hours % 12 + if later { 12 } else { 0 };
    blanks + len
}

/// A zone: how many bytes it takes, and its offset in minutes.
pub(super) fn zone(text: &str) -> (usize, i64) {
    let rest = text.strip_prefix(' ').unwrap_or(text);
    let blank = text.len() - rest.len();
    let (mut len, mut offset) = (0, 0);
    if let Some(sign) = rest.chars().next().filter(|c| matches!(c, '+' | '-')) {
        let hours = digits(&rest[1..], 2, 2);
        let colon = usize::from(rest.as_bytes().get(3) == Some(&b':'));
        let minutes = hours.and_then(|_| digits(rest.get(3 + colon..)?, 2, 2));
        let goes_on = |at: usize| rest[at..].starts_with(|c: char| c.is_ascii_alphanumeric());
        let read = match (hours, minutes) {
            (Some((hours, _)), Some((minutes, _))) if !goes_on(5 + colon) => Some((hours, minutes, 5 + colon)),
            (Some((hours, _)), None) if blank == 0 && !goes_on(3) => Some((hours, 0, 3)),
            _ => None,
        };
        if let Some((hours, minutes, end)) = read.filter(|(hours, minutes, _)| *hours <= 14 && *minutes <= 59) {
            len = end;
            offset = i64::try_from(hours * 60 + minutes).unwrap_or(0) * if sign == '-' { -1 } else { 1 };
        }
    }
    let mut end = if len > 0 { blank + len } else { 0 };
    // a name, alone or after the offset: `+0000 UTC`, `Z`
    let named = &text[end..];
    let named = named.strip_prefix(' ').unwrap_or(named);
    let letters = named.bytes().take_while(u8::is_ascii_alphabetic).count();
    let known = ZONES.iter().find(|(zone, _)| named[..letters] == **zone || *zone == "Z" && &named[..letters] == "z");
    if let Some((zone, minutes)) = known {
        if len == 0 {
            offset = *minutes;
        }
        end = text.len() - named.len() + zone.len();
    }
    // `[Europe/Berlin]`, as Java writes it
    if let Some(inner) = text[end..].strip_prefix('[')
        && let Some(close) = inner.find(']').filter(|close| *close <= 40 && end > 0)
        && inner[..close].bytes().all(|b| b.is_ascii_alphabetic() || matches!(b, b'/' | b'_'))
    {
        end += close + 2;
    }
    (end, offset)
}

/// A year after a clock, as ctime writes it.
fn year_after(text: &str) -> Option<u64> {
    let (year, _) = digits(text.strip_prefix(' ')?, 4, 4)?;
    ((1_970..=9_999).contains(&year) && ends(&text[5..])).then_some(year)
}

/// Whether nothing that belongs to a time comes next.
pub(super) fn ends(text: &str) -> bool {
    match text.chars().next() {
        None => true,
        Some(c) => {
            !(c.is_alphanumeric()
                || matches!(c, ':' | '.' | '/' | '-') && text[1..].starts_with(|c: char| c.is_ascii_digit()))
        }
    }
}
