//! Virtual time: instants and spans in whole milliseconds; and what an instant of the wall clock is in a calendar.
//!
//! Invariant: time comes in as an argument; nothing here reads a clock. A tick is 1 ms.

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::{Add, Sub};

/// An instant of virtual time: milliseconds since the cell began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct VTime(pub u64);

/// A span of virtual time in whole milliseconds, written `250ms`, `2s`, `15m` or `4h`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[cfg_attr(feature = "schema", schemars(transparent))]
pub struct Span(
    #[cfg_attr(feature = "schema", schemars(with = "String", regex(pattern = r"^[0-9]+(ms|s|m|h)$")))] pub u64,
);

/// The longest span that a file may name: 366 days. Anything longer is treated as a mistake.
pub const SPAN_MAX: Span = Span(366 * 24 * 3_600_000);

impl VTime {
    /// The instant a cell begins.
    pub const ZERO: VTime = VTime(0);

    /// Milliseconds since `earlier`; 0 if `earlier` is later.
    pub fn since(self, earlier: VTime) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }
}

impl Span {
    /// No time at all.
    pub const ZERO: Span = Span(0);

    /// A span of whole milliseconds.
    pub const fn ms(ms: u64) -> Span {
        Span(ms)
    }

    /// A span of whole seconds.
    pub const fn secs(secs: u64) -> Span {
        Span(secs * 1_000)
    }

    /// A span of whole minutes.
    pub const fn mins(mins: u64) -> Span {
        Span(mins * 60_000)
    }

    /// A span of whole hours.
    pub const fn hours(hours: u64) -> Span {
        Span(hours * 3_600_000)
    }

    /// The span in milliseconds.
    pub const fn as_ms(self) -> u64 {
        self.0
    }

    /// Reads `250ms`, `2s`, `15m`, `4h`. Errors are worded to fit after a caret.
    ///
    /// # Errors
    /// No unit, an unknown unit, not a whole number, or longer than [`SPAN_MAX`].
    pub fn parse(text: &str) -> Result<Span, SpanError> {
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let (number, unit) = text.split_at(digits);
        let factor = match unit {
            _ if digits == 0 => return Err(SpanError::NoNumber),
            "ms" => 1,
            "s" => 1_000,
            "m" => 60_000,
            "h" => 3_600_000,
            "" => return Err(SpanError::NoUnit { text: text.to_owned() }),
            _ => return Err(SpanError::Unit { unit: unit.to_owned() }),
        };
        let number: u64 = number.parse().map_err(|_| SpanError::TooLong)?;
        let ms = number.checked_mul(factor).filter(|&ms| ms <= SPAN_MAX.0);
        ms.map(Span).ok_or(SpanError::TooLong)
    }
}

/// Why a text is not a span.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SpanError {
    /// `90` instead of `90s`.
    #[error("a duration needs a unit: write `{text}s` or `{text}ms`")]
    NoUnit {
        /// The digits that were given.
        text: String,
    },
    /// Something that does not begin with digits.
    #[error("a duration is a whole number and a unit: `250ms`, `2s`, `15m`, `4h`")]
    NoNumber,
    /// `9y`, `1.5s`, `2 s`.
    #[error("no unit of time: `{unit}`; use ms, s, m or h after a whole number")]
    Unit {
        /// What follows the digits.
        unit: String,
    },
    /// Above [`SPAN_MAX`].
    #[error("longer than 366 days")]
    TooLong,
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => write!(f, "0ms"),
            ms if ms % 3_600_000 == 0 => write!(f, "{}h", ms / 3_600_000),
            ms if ms % 60_000 == 0 => write!(f, "{}m", ms / 60_000),
            ms if ms % 1_000 == 0 => write!(f, "{}s", ms / 1_000),
            ms => write!(f, "{ms}ms"),
        }
    }
}

impl fmt::Display for VTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Span(self.0).fmt(f)
    }
}

impl Serialize for Span {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Span, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(d)?;
        Span::parse(&text).map_err(serde::de::Error::custom)
    }
}

impl Add<Span> for VTime {
    type Output = VTime;
    fn add(self, span: Span) -> VTime {
        VTime(self.0.saturating_add(span.0))
    }
}

impl Add for Span {
    type Output = Span;
    fn add(self, span: Span) -> Span {
        Span(self.0.saturating_add(span.0))
    }
}

impl Sub for Span {
    type Output = Span;
    fn sub(self, span: Span) -> Span {
        Span(self.0.saturating_sub(span.0))
    }
}

/// The date this many days after 1970-01-01 as `YYYY-MM-DD`, by Howard Hinnant's `civil_from_days`: ten lines of a published
/// algorithm are all that is needed of a calendar (the logs' reader has the way back).
pub fn date(days: u64) -> String {
    let z = days + 719_468;
    let era = z / 146_097;
    let day_of_era = z % 146_097;
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

/// An instant in milliseconds since 1970 as `2026-11-24T23:18:24.066Z`, in UTC.
pub fn instant(ms: u64) -> String {
    let (day, rest) = (ms / 86_400_000, ms % 86_400_000);
    let (hour, minute) = (rest / 3_600_000, rest / 60_000 % 60);
    format!("{}T{hour:02}:{minute:02}:{:02}.{:03}Z", date(day), rest / 1_000 % 60, rest % 1_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_dates_and_milliseconds_are_instants() {
        assert_eq!([0, 11_016, 20_513].map(date), ["1970-01-01", "2000-02-29", "2026-03-01"]);
        assert_eq!(instant(1_795_562_304_066), "2026-11-24T23:18:24.066Z");
        assert_eq!(instant(0), "1970-01-01T00:00:00.000Z");
    }

    #[test]
    fn a_span_reads_back_as_it_is_written() {
        let written = [
            ("0ms", Span::ZERO),
            ("250ms", Span::ms(250)),
            ("2s", Span::secs(2)),
            ("15m", Span::mins(15)),
            ("4h", Span::hours(4)),
            ("90s", Span::secs(90)),
            ("1500ms", Span::ms(1_500)),
            ("8784h", SPAN_MAX),
        ];
        for (text, span) in written {
            assert_eq!(Span::parse(text), Ok(span));
            assert_eq!(span.to_string(), text);
            assert_eq!(VTime(span.0).to_string(), text);
            assert_eq!(serde_json::to_value(span).unwrap(), text);
            assert_eq!(serde_json::from_value::<Span>(text.into()).unwrap(), span);
        }
        // the largest unit that holds it exactly
        assert_eq!(Span::parse("3600s").map(|span| span.to_string()).as_deref(), Ok("1h"));
        assert_eq!([Span::secs(2), Span::mins(2), Span::hours(2)].map(Span::as_ms), [2_000, 120_000, 7_200_000]);
    }

    #[test]
    fn what_is_no_span_says_what_to_write() {
        let said = |text: &str| Span::parse(text).unwrap_err().to_string();
        assert_eq!(said("90"), "a duration needs a unit: write `90s` or `90ms`");
        for text in ["", "s", "-1s", "soon"] {
            assert_eq!(said(text), "a duration is a whole number and a unit: `250ms`, `2s`, `15m`, `4h`", "{text}");
        }
        assert_eq!(said("1.5s"), "no unit of time: `.5s`; use ms, s, m or h after a whole number");
        for text in ["8785h", "31622400001ms", "99999999999999999999s", "18446744073709551615h"] {
            assert_eq!(said(text), "longer than 366 days", "{text}");
        }
    }

    #[test]
    fn time_neither_overflows_nor_runs_backwards() {
        assert_eq!(VTime(7).since(VTime(5)), Span(2));
        assert_eq!(VTime(5).since(VTime(7)), Span::ZERO);
        assert_eq!(VTime(5) + Span(2), VTime(7));
        assert_eq!(VTime(u64::MAX) + Span(2), VTime(u64::MAX));
        assert_eq!((Span(5) + Span(2), Span(u64::MAX) + Span(2)), (Span(7), Span(u64::MAX)));
        assert_eq!((Span(5) - Span(2), Span(2) - Span(5)), (Span(3), Span::ZERO));
    }
}
