//! Times as people read them.

const DAY_SECONDS: i64 = 86_400;

/// Milliseconds since 1970 as UTC in RFC 3339, to the second: `2026-01-02T03:04:05Z`.
pub(crate) fn rfc3339(time_ms: i64) -> String {
    let seconds = time_ms.div_euclid(1000);
    let (days, second) = (seconds.div_euclid(DAY_SECONDS), seconds.rem_euclid(DAY_SECONDS));
    let (year, month, day) = civil(days);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// The time between two moments, in seconds: `+1.234s`.
pub(crate) fn offset(from_ms: i64, to_ms: i64) -> String {
    let passed = i128::from(to_ms) - i128::from(from_ms);
    let sign = if passed < 0 { '-' } else { '+' };
    let passed = passed.unsigned_abs();
    format!("{sign}{}.{:03}s", passed / 1000, passed % 1000)
}

/// Year, month and day of a number of days since 1970 in the Gregorian calendar.
fn civil(days: i64) -> (i64, i64, i64) {
    // Years begin in March, so that a leap day is a year's last; eras of 400 years have 146,097 days.
    let days = days + 719_468;
    let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_utc_to_the_second() {
        for (time_ms, expected) in [
            (0, "1970-01-01T00:00:00Z"),
            (-1, "1969-12-31T23:59:59Z"),
            (951_782_400_000, "2000-02-29T00:00:00Z"),
            (1_700_000_000_999, "2023-11-14T22:13:20Z"),
            (4_107_542_399_000, "2100-02-28T23:59:59Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00Z"),
            (253_402_300_799_000, "9999-12-31T23:59:59Z"),
        ] {
            assert_eq!(rfc3339(time_ms), expected);
        }
        // A record may say anything.
        assert!(rfc3339(i64::MAX).ends_with('Z') && rfc3339(i64::MIN).starts_with('-'));
    }

    #[test]
    fn every_day_of_400_years_follows_the_one_before() {
        let mut expected = (1970, 1, 1);
        for day in 0..146_097 {
            assert_eq!(civil(day), expected);
            let (year, month, day) = expected;
            let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
            let length = [31, if is_leap { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
            expected = match (month, day) {
                (12, 31) => (year + 1, 1, 1),
                (_, last) if last == length[usize::try_from(month - 1).unwrap()] => (year, month + 1, 1),
                _ => (year, month, day + 1),
            };
        }
        assert_eq!(expected, (2370, 1, 1));
    }

    #[test]
    fn offsets_have_a_sign() {
        assert_eq!(offset(1000, 2234), "+1.234s");
        assert_eq!(offset(2000, 1999), "-0.001s");
        assert_eq!(offset(i64::MIN, i64::MAX), "+18446744073709551.615s");
    }
}
