//! Instants as logs write them.
//!
//! Invariant: milliseconds since some origin; all instants of one log have the same origin.

use serde_json::Value;

/// An instant of an event: a number of seconds, milliseconds, microseconds or nanoseconds, or an ISO 8601 text.
pub fn instant(value: &Value) -> Option<u64> {
    match value {
        Value::Number(number) => number.as_f64().and_then(number_ms),
        Value::String(text) => parse(text),
        _ => None,
    }
}

/// The instant of an event with a member that is one: `timestamp`, `ts`, `time`, `t`, `at`.
pub fn of_event(value: &Value) -> Option<u64> {
    ["timestamp", "ts", "time", "t", "at", "_audit_timestamp"].iter().find_map(|key| instant(&value[key]))
}

/// Reads an instant: `12.5`, `1795177686824`, `2026-11-20T12:20:26.066Z`, `[12:20:26.066]`, `2026-11-20 12:20:26+01:00`.
pub fn parse(text: &str) -> Option<u64> {
    let text = text.trim().trim_start_matches('[').trim_end_matches([']', ':', 'Z']);
    if text.is_empty() || text.len() > 40 {
        return None;
    }
    if let Ok(number) = text.trim_end_matches('s').parse::<f64>() {
        return number_ms(number);
    }
    let (date, clock) = match text.split_once(['T', ' ']) {
        Some((date, clock)) => (Some(date), clock),
        None => (None, text),
    };
    let (clock, zone) = clock.find(['+', '-']).map_or((clock, ""), |at| clock.split_at(at));
    let clock = clock.trim();
    let mut parts = clock.split(':');
    let (hours, minutes) = (parts.next()?.parse::<u64>().ok()?, parts.next()?.parse::<u64>().ok()?);
    let seconds = parts.next().unwrap_or("0").replace(',', ".").parse::<f64>().ok()?;
    if parts.next().is_some() || hours > 24 || minutes > 59 || !(0.0..=60.99).contains(&seconds) {
        return None;
    }
    let days = match date {
        Some(date) => days(date)?,
        None => 0,
    };
    let local = ((days * 24 + hours) * 60 + minutes) * 60_000 + (seconds * 1_000.0) as u64;
    // two machines may have written one log
    Some(if date.is_some() { local.saturating_add_signed(-offset_ms(zone)) } else { local })
}

/// A zone's offset: `+01:00`, `-0500`, `+01`; 0 for anything else.
fn offset_ms(zone: &str) -> i64 {
    let digits: Vec<i64> = zone.bytes().filter(u8::is_ascii_digit).map(|b| i64::from(b - b'0')).collect();
    let (hours, minutes) = match digits[..] {
        [a, b] => (a * 10 + b, 0),
        [a, b, c, d] => (a * 10 + b, c * 10 + d),
        _ => return 0,
    };
    let minutes = hours.min(14) * 60 + minutes.min(59);
    if zone.starts_with('-') { -minutes * 60_000 } else { minutes * 60_000 }
}

/// A line's own instant before its text, as logs of CI and of containers have it: `2026-11-20T12:20:26.066Z text`,
/// `2026-11-20 12:20:26,066 text`.
pub fn stamped(line: &str) -> Option<(u64, &str)> {
    let dated = |stamp: &str| {
        let plain = stamp.trim_start_matches('[');
        plain.len() >= 16 && plain.as_bytes()[4] == b'-' && plain.as_bytes()[7] == b'-'
    };
    let mut ends = line.match_indices(' ').map(|(at, _)| at);
    let first = ends.next()?;
    let all = [Some(first), ends.next()].into_iter().flatten();
    all.filter(|end| dated(&line[..*end])).find_map(|end| Some((parse(&line[..end])?, &line[end + 1..])))
}

/// Seconds if it is small, else in the unit that makes it a time of this century.
fn number_ms(number: f64) -> Option<u64> {
    let ms = match number {
        n if !n.is_finite() || n < 0.0 => return None,
        n if n < 1e11 => n * 1e3,
        n if n < 1e14 => n,
        n if n < 1e17 => n / 1e3,
        n => n / 1e6,
    };
    (ms < 1e15).then_some(ms.round() as u64)
}

/// Days since 1970-01-01 (Howard Hinnant, "chrono-compatible low-level date algorithms").
fn days(date: &str) -> Option<u64> {
    let mut parts = date.split(['-', '/']);
    let (year, month, day) =
        (parts.next()?.parse::<u64>().ok()?, parts.next()?.parse::<u64>().ok()?, parts.next()?.parse::<u64>().ok()?);
    if parts.next().is_some()
        || !(1970..=9999).contains(&year)
        || !(1..=12).contains(&month)
        || !(1..=31).contains(&day)
    {
        return None;
    }
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year / 400, year % 400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    Some(era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_forms_of_one_instant_are_one() {
        assert_eq!(parse("2026-11-20T12:20:26.066Z"), parse("1795177226.066"));
        assert_eq!(parse("1795177226066"), parse("1795177226066000"));
        assert_eq!(parse("[12:20:26.5]"), Some(44_426_500));
        assert_eq!(parse("0.25"), Some(250));
        assert_eq!(parse("2026-11-20T13:20:26.066+01:00"), parse("1795177226.066"));
        assert_eq!(parse("2026-11-20 07:20:26,066-0500"), parse("1795177226.066"));
        for line in ["2026-11-20T12:20:26.066Z x y", "2026-11-20 12:20:26,066 x y", "[2026-11-20T12:20:26.066Z] x y"] {
            assert_eq!(stamped(line), Some((1_795_177_226_066, "x y")), "{line}");
        }
        for line in ["2026 ERROR x", "", "x", "12:20:26 x", "2026-11-20 x y", "ä2026-11-20T12:20 é y"] {
            assert_eq!(stamped(line), None, "{line}");
        }
        for wrong in ["", "x", "12", "25:00:00x", "1:2:3:4", "-5", "NaN", "1e300", "2026-13-01T00:00:00"] {
            assert!(parse(wrong).is_none() || wrong == "12", "{wrong}");
        }
    }
}
