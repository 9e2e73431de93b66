//! The day on which something was seen.
//!
//! Invariant: UTC, as `YYYY-MM-DD`; the only clock that a row shows. These ten lines of a published algorithm are all
//! that is needed of a calendar, here and (backwards) in the logs; a crate for dates would add more code to build.

use std::time::{SystemTime, UNIX_EPOCH};

/// Today.
pub fn today() -> String {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    date(seconds / 86_400)
}

/// The date this many days after 1970-01-01, by Howard Hinnant's `civil_from_days`.
fn date(days: u64) -> String {
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

#[cfg(test)]
mod tests {
    use super::date;

    #[test]
    fn days_are_dates() {
        assert_eq!(date(0), "1970-01-01");
        assert_eq!(date(11_016), "2000-02-29");
        assert_eq!(date(20_513), "2026-03-01");
        assert_eq!(date(20_778), "2026-11-21");
    }
}
