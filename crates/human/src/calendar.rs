//! Dates as people read them, and as programs do, in UTC.

use lifetrace_analysis::calendar::DateTime;
use lifetrace_trace::ids::Timestamp;

/// `2026-01-12 13:44:03 UTC`.
pub fn readable(time: Timestamp) -> String {
    let time = DateTime::from(time);
    format!("{} {} UTC", time.date(), time.clock())
}

/// `2026-01-12T13:44:03.123456Z` (RFC 3339).
pub fn rfc3339(time: Timestamp) -> String {
    let time = DateTime::from(time);
    format!("{}T{}.{:06}Z", time.date(), time.clock(), time.micros)
}

#[cfg(test)]
mod tests {
    use lifetrace_analysis::calendar::MICROS_PER_SECOND;

    use super::*;

    fn check(seconds: u64, expected: &str) {
        assert_eq!(readable(Timestamp(seconds * MICROS_PER_SECOND)), expected);
    }

    #[test]
    fn dates() {
        check(0, "1970-01-01 00:00:00 UTC");
        check(951_782_399, "2000-02-28 23:59:59 UTC");
        check(951_782_400, "2000-02-29 00:00:00 UTC");
        check(951_868_800, "2000-03-01 00:00:00 UTC");
        check(1_704_067_199, "2023-12-31 23:59:59 UTC");
        check(4_107_542_400, "2100-03-01 00:00:00 UTC");
    }

    #[test]
    fn any_number_is_a_date() {
        check(u64::MAX / MICROS_PER_SECOND, "586524-01-19 08:01:49 UTC");
        assert_eq!(rfc3339(Timestamp(1_000_001)), "1970-01-01T00:00:01.000001Z");
    }
}
