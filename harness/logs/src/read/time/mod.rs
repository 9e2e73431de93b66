//! Instants as logs write them: the numbers and texts of events, and the times in front of lines.
//!
//! Invariant: milliseconds since some origin; all instants of one log have the same origin. No text whatever makes a
//! reader of times panic, or look further than a line's first bytes.

mod clocks;
mod front;
mod line;
mod shapes;

pub use self::clocks::Clocks;
pub use self::line::{Stamp, find, find_member, stamped};
pub use self::shapes::Since;

use serde_json::Value;

/// An instant of an event: a number of seconds, milliseconds, microseconds or nanoseconds, or a text that is a date and a
/// clock.
pub fn instant(value: &Value) -> Option<u64> {
    match value {
        Value::Number(number) => number.as_f64().and_then(number_ms),
        Value::String(text) => parse(text),
        // `{"seconds": 1, "nanos": 2}` and MongoDB's `{"$date": "…"}`
        Value::Object(_) if !value["$date"].is_object() && !value["$date"].is_null() => instant(&value["$date"]),
        Value::Object(_) => {
            let seconds = value["seconds"].as_u64().or_else(|| value["seconds"].as_str()?.parse().ok());
            let whole = seconds.filter(|seconds| *seconds < LAST_SECOND)?;
            Some(whole * 1_000 + value["nanos"].as_u64().unwrap_or(0).min(999_999_999) / 1_000_000)
        }
        _ => None,
    }
}

/// The instant of an event with a member that is one: `timestamp`, `ts`, `time`, `t`, `at`; else the one that its values
/// show to be one.
pub fn of_event(value: &Value) -> Option<u64> {
    ["timestamp", "ts", "time", "t", "at", "_audit_timestamp"]
        .iter()
        .find_map(|key| instant(&value[key]))
        .or_else(|| of_members(value))
}

/// The instant among an object's members, told by their values: a text that is a date with a clock, a number that is an
/// instant of this century. A number of seconds, and a number since the run's begin, must also have a name that says so.
pub fn of_members(value: &Value) -> Option<u64> {
    let members = value.as_object()?;
    let mut best: Option<(u8, u64)> = None;
    for (key, value) in members.iter().take(MEMBERS) {
        let Some((rank, ms)) = member(key, value) else { continue };
        if best.is_none_or(|(other, _)| rank < other) {
            best = Some((rank, ms));
        }
    }
    best.map(|(_, ms)| ms)
}

/// The most members of an object that are looked at for a time. A choice.
const MEMBERS: usize = 64;
/// The last second that a number is read as: the year 2100.
const LAST_SECOND: u64 = 4_102_444_800;
/// The first one: the year 2001.
const FIRST_SECOND: u64 = 1_000_000_000;

/// An instant and how much speaks for it: the smaller, the more.
fn member(key: &str, value: &Value) -> Option<(u8, u64)> {
    let low: String = key.chars().take(40).collect::<String>().to_ascii_lowercase();
    // what began or will end at another time than the event's own
    let other =
        ["start", "begin", "created", "expire", "reset", "until", "deadline", "birth", "updated", "due", "last"];
    let named = ["timestamp", "datetime", "asctime", "time", "ts", "when", "clock", "stamp", "date", "instant"];
    let named =
        named.iter().any(|name| low.contains(name)) && !low.contains("timeout") || matches!(low.as_str(), "t" | "at");
    let named = named || low.ends_with("_at") || low.ends_with("At");
    let penalty = if other.iter().any(|word| low.contains(word)) { 2 } else { 0 };
    let rank = |known: bool| (if known { 0 } else { 1 }) + penalty;
    match value {
        Value::String(text) if text.len() <= 48 => {
            let all_digits = text.len() >= 10 && text.bytes().all(|b| b.is_ascii_digit() || b == b'.');
            if all_digits {
                return named.then(|| text.parse().ok().and_then(absolute)).flatten().map(|ms| (rank(true), ms));
            }
            let found = shapes::dated(text).filter(|found| found.len == text.trim_end().len())?;
            (found.since == Since::Epoch).then_some((rank(named), found.ms))
        }
        Value::Number(number) => {
            let number = number.as_f64()?;
            let sized = ["id", "size", "bytes", "tokens", "count", "seq", "pid", "offset", "hash"];
            let sized = sized.iter().any(|word| low.ends_with(word));
            let ms = absolute(number)?;
            // a number of seconds may be anything
            let seconds = number < FIRST_SECOND as f64 * 1e2;
            let is_time = named || !(sized || seconds && number.fract() == 0.0);
            is_time.then_some((rank(named), ms))
        }
        Value::Object(_) if named => Some((rank(true), instant(value)?)),
        _ => None,
    }
}

/// A number as an instant of this century, in whatever unit.
fn absolute(number: f64) -> Option<u64> {
    let ms = number_ms(number)?;
    (FIRST_SECOND * 1_000..LAST_SECOND * 1_000).contains(&ms).then_some(ms)
}

/// Reads an instant: `12.5`, `1795177686824`, `2026-11-20T12:20:26.066Z`, `[12:20:26.066]`, `2026-11-20 12:20:26+01:00`.
pub fn parse(text: &str) -> Option<u64> {
    let text = text.trim().trim_start_matches(['[', '"']).trim_end_matches([']', ':', '"']).trim_end();
    if text.is_empty() || text.len() > 64 {
        return None;
    }
    if let Ok(number) = text.strip_suffix('s').unwrap_or(text).parse::<f64>()
        && text.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'.' | b's'))
        && text.bytes().filter(u8::is_ascii_digit).count() != 14
    {
        return number_ms(number);
    }
    shapes::moment(text).filter(|found| found.len == text.len()).map(|found| found.ms)
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
fn days(year: u64, month: u64, day: u64) -> Option<u64> {
    if !(1970..=9999).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
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
    use serde_json::json;

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
        for line in ["2026 ERROR x", "", "x", "2026-11-20 x y", "ä2026-11-20T12:20 é y"] {
            assert_eq!(stamped(line), None, "{line}");
        }
        for wrong in ["", "x", "12", "25:00:00x", "1:2:3:4", "-5", "NaN", "1e300", "2026-13-01T00:00:00"] {
            assert!(parse(wrong).is_none() || wrong == "12", "{wrong}");
        }
    }

    #[test]
    fn a_member_is_a_time_by_its_value() {
        let at = Some(1_777_629_600_000);
        for event in [
            json!({"when": "2026-05-01T10:00:00Z", "n": 3}),
            json!({"x": "2026-05-01T10:00:00Z"}),
            json!({"emitted": 1_777_629_600_000_u64}),
            json!({"logged_at": 1_777_629_600}),
            json!({"asctime": "2026-05-01 10:00:00,000"}),
            json!({"unixNano_time": "1777629600000000000"}),
            json!({"session_started": "2026-05-01T09:00:00Z", "clock": 1_777_629_600.0}),
            json!({"t": {"$date": "2026-05-01T10:00:00.000+00:00"}}),
            json!({"timestamp": {"seconds": "1777629600", "nanos": 1}}),
            json!({"timestamp_ms": 1_777_629_600_000_u64}),
        ] {
            assert_eq!(of_event(&event), at, "{event}");
        }
        for event in [
            json!({"bytes": 1_777_629_600}),
            json!({"id": 1_777_629_600_000_u64}),
            json!({"text": "at 2026-05-01T10:00:00Z"}),
            json!({"timeout": 600}),
            json!({"time": 1e300}),
            json!({"time": {"seconds": u64::MAX}}),
            json!([1_777_629_600_000_u64]),
        ] {
            assert_eq!(of_event(&event), None, "{event}");
        }
    }
}
