//! The Gregorian calendar in UTC: moments as dates, and back. By Howard Hinnant's algorithms, whose years
//! begin in March so that the leap day is the last one.

use lifetrace_trace::ids::Timestamp;

/// Microseconds of a second.
pub const MICROS_PER_SECOND: u64 = 1_000_000;

/// Seconds of a day; the calendar has no leap seconds.
pub const SECONDS_PER_DAY: i64 = 86_400;

const DAYS_TO_1970: i64 = 719_468;
const DAYS_PER_ERA: i64 = 146_097;

/// A moment as a date and a time of day. Any [`Timestamp`] is one; the last of them are in the year 586524.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DateTime {
    days: i64,
    second: i64,
    /// Microseconds after the full second.
    pub micros: u64,
}

impl From<Timestamp> for DateTime {
    fn from(time: Timestamp) -> Self {
        let seconds = (time.0 / MICROS_PER_SECOND) as i64;
        let (days, second) = (seconds / SECONDS_PER_DAY, seconds % SECONDS_PER_DAY);
        Self { days, second, micros: time.0 % MICROS_PER_SECOND }
    }
}

impl DateTime {
    /// `2026-01-12`.
    pub fn date(&self) -> String {
        let (year, month, day) = from_days(self.days);
        format!("{year:04}-{month:02}-{day:02}")
    }

    /// `13:44:03`, to the full second.
    pub fn clock(&self) -> String {
        let (minute, second) = (self.second / 60, self.second % 60);
        format!("{:02}:{:02}:{second:02}", minute / 60, minute % 60)
    }
}

/// Days from 1970-01-01 to a day, negative before it; `None` if the calendar has no such day.
pub fn days(year: i64, month: i64, day: i64) -> Option<i64> {
    let days = to_days(year, month, day);
    let exists = (1..=12).contains(&month) && from_days(days) == (year, month, day);
    exists.then_some(days)
}

/// Year, month and day of a day that is counted from 1970-01-01. Exact for any day within ten thousand
/// million years.
fn from_days(days_since_1970: i64) -> (i64, i64, i64) {
    let days = days_since_1970 + DAYS_TO_1970;
    let (era, day_of_era) = (days.div_euclid(DAYS_PER_ERA), days.rem_euclid(DAYS_PER_ERA));
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    (era * 400 + year_of_era + i64::from(month <= 2), month, day)
}

/// The inverse of [`from_days`]; some other day if there is no such one.
fn to_days(year: i64, month: i64, day: i64) -> i64 {
    let year = year - i64::from(month <= 2);
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let month_from_march = if month > 2 { month - 3 } else { month + 9 };
    let day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * DAYS_PER_ERA + day_of_era - DAYS_TO_1970
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_day_up_to_the_year_10000_is_found_again() {
        for days in 0..2_932_897 {
            let (year, month, day) = from_days(days);
            assert_eq!(to_days(year, month, day), days);
        }
        assert_eq!(from_days(2_932_897), (10_000, 1, 1));
        assert_eq!(from_days(11_016), (2000, 2, 29));
    }

    #[test]
    fn days_that_are_none() {
        assert_eq!(days(2000, 2, 29), Some(11_016));
        assert_eq!(days(1969, 12, 31), Some(-1));
        for (month, day) in [(0, 10), (13, 1), (1, 0), (1, 32), (2, 29)] {
            assert_eq!(days(2026, month, day), None, "{month}-{day}");
        }
    }
}
