//! Sizes, spans of time and shares, as people type them; whole numbers of the smallest unit.
//!
//! Nothing is rounded: what is no whole number of bytes, microseconds or millionths is refused, with the
//! nearest that is. Units are read in any case, and written in the greatest one that leaves a whole number.

use std::fmt;

use lifetrace_trace::ids::Bytes;

use super::error::{Mistake, clipped};
use super::scan::Scanner;

const SECOND: u64 = 1_000_000;
const TIMES: [(&str, u64); 7] = [
    ("us", 1),
    ("ms", 1_000),
    ("s", SECOND),
    ("min", 60 * SECOND),
    ("m", 60 * SECOND),
    ("h", 3600 * SECOND),
    ("d", 86_400 * SECOND),
];

const COUNTS: [(&str, u64); 5] = [
    ("k", 1_000),
    ("M", 1_000_000),
    ("G", 1_000_000_000),
    ("million", 1_000_000),
    ("billion", 1_000_000_000),
];

const SIZES: [(&str, u64); 13] = [
    ("B", 1),
    ("KB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
    ("K", 1 << 10),
    ("M", 1 << 20),
    ("G", 1 << 30),
    ("T", 1 << 40),
];

/// The units that sizes are written in, the greatest first.
const WRITTEN_SIZES: [(&str, u64); 8] = [
    ("TiB", 1 << 40),
    ("TB", 1_000_000_000_000),
    ("GiB", 1 << 30),
    ("GB", 1_000_000_000),
    ("MiB", 1 << 20),
    ("MB", 1_000_000),
    ("KiB", 1 << 10),
    ("KB", 1_000),
];
const WRITTEN_TIMES: [(&str, u64); 5] = [
    ("d", 86_400 * SECOND),
    ("h", 3600 * SECOND),
    ("min", 60 * SECOND),
    ("s", SECOND),
    ("ms", 1_000),
];

pub(crate) const A_SIZE: &str = "a size, such as 4096, 64KiB or 1.5MB";
pub(crate) const A_COUNT: &str = "a number, such as 5000, 10k or 2 million";
pub(crate) const A_TIME: &str =
    "a time with its unit (us, ms, s, min, h, d), such as 500ms or 1h30min";
pub(crate) const A_SPAN: &str =
    "a time with its unit (us, ms, s, min, h, d) or a share of the trace, such as 500ms or 25%";

/// A span of time in microseconds; at most `i64::MAX`, some 290 000 years.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Micros(pub(crate) u64);

impl Micros {
    /// The longest that there is.
    pub const MAX: Self = Self(i64::MAX as u64);

    /// What lives shorter is short-lived, where nobody says otherwise: the preset `temporary`.
    pub const TEMPORARY: Self = Self(SECOND / 100);

    /// So many microseconds, at most [`MAX`](Self::MAX).
    pub fn new(micros: u64) -> Option<Self> {
        (micros <= Self::MAX.0).then_some(Self(micros))
    }

    /// As a number.
    pub fn get(self) -> u64 {
        self.0
    }
}

impl fmt::Display for Micros {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_whole(f, self.0, &WRITTEN_TIMES, if self.0 == 0 { "s" } else { "us" })
    }
}

/// A part of a trace's time, in millionths; at most the whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Share(u32);

const WHOLE: u32 = 1_000_000;
const PERCENT: u32 = WHOLE / 100;

impl Share {
    /// So many millionths, at most a million.
    pub fn new(millionths: u32) -> Option<Self> {
        (millionths <= WHOLE).then_some(Self(millionths))
    }

    /// So many hundredths of the whole, in constants.
    pub(crate) const fn percent(percent: u32) -> Self {
        assert!(percent <= 100);
        Self(percent * PERCENT)
    }

    /// This part of `whole`, rounded down.
    pub(crate) fn of(self, whole: i128) -> i128 {
        whole * i128::from(self.0) / i128::from(WHOLE)
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let decimals = format!("{:04}", self.0 % PERCENT);
        let decimals = decimals.trim_end_matches('0');
        let point = if decimals.is_empty() { "" } else { "." };
        write!(f, "{}{point}{decimals}%", self.0 / PERCENT)
    }
}

/// How long something lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Span {
    /// In absolute terms.
    Time(Micros),
    /// As a part of the time from the start to the end of the trace.
    Share(Share),
}

impl Span {
    /// In microseconds, in a trace that lasts so many.
    pub(crate) fn micros(self, trace: i128) -> i128 {
        match self {
            Self::Time(Micros(micros)) => micros.into(),
            Self::Share(share) => share.of(trace),
        }
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Time(micros) => micros.fmt(f),
            Self::Share(share) => share.fmt(f),
        }
    }
}

/// A size in bytes, as filters write it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ByteSize(pub Bytes);

impl fmt::Display for ByteSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_whole(f, self.0.0, &WRITTEN_SIZES, "B")
    }
}

fn write_whole(
    f: &mut fmt::Formatter<'_>,
    value: u64,
    units: &[(&str, u64)],
    smallest: &str,
) -> fmt::Result {
    match units.iter().find(|&&(_, scale)| value > 0 && value.is_multiple_of(scale)) {
        Some((unit, scale)) => write!(f, "{}{unit}", value / scale),
        None => write!(f, "{value}{smallest}"),
    }
}

/// A size with its unit; without one it is bytes.
pub(crate) fn size(scanner: &mut Scanner<'_>) -> Result<ByteSize, Mistake> {
    let number = Number::scan(scanner, A_SIZE)?;
    let scale = unit(scanner, &SIZES)?.unwrap_or(1);
    number.times(scale, "bytes").map(|bytes| ByteSize(Bytes(bytes)))
}

/// A number of things.
pub(crate) fn count(scanner: &mut Scanner<'_>) -> Result<u64, Mistake> {
    let number = Number::scan(scanner, A_COUNT)?;
    let scale = unit(scanner, &COUNTS)?.unwrap_or(1);
    number.times(scale, "objects")
}

/// A time, or a share of the trace's.
pub(crate) fn span(scanner: &mut Scanner<'_>) -> Result<Span, Mistake> {
    let number = Number::scan(scanner, A_SPAN)?;
    match share_after(scanner, number)? {
        Some(share) => Ok(Span::Share(share)),
        None => time_after(scanner, number).map(Span::Time),
    }
}

/// A time: one or more numbers with their units, the greatest first.
pub(crate) fn time(scanner: &mut Scanner<'_>) -> Result<Micros, Mistake> {
    let number = Number::scan(scanner, A_TIME)?;
    time_after(scanner, number)
}

/// The rest of a time whose first number has been read.
pub(crate) fn time_after(scanner: &mut Scanner<'_>, number: Number<'_>) -> Result<Micros, Mistake> {
    let (mut number, mut sum, mut last_scale) = (number, 0_u64, u64::MAX);
    loop {
        let scale = match unit(scanner, &TIMES)? {
            Some(scale) => scale,
            None if number.is_zero() && last_scale == u64::MAX => 1,
            None => return Err(Mistake::NoUnit),
        };
        if scale >= last_scale {
            return Err(Mistake::UnitsOutOfOrder);
        }
        last_scale = scale;
        sum = sum.checked_add(number.times(scale, "microseconds")?).ok_or(Mistake::TooLarge)?;
        if !scanner.peek().is_some_and(|next| next.is_ascii_digit()) {
            return Micros::new(sum).ok_or(Mistake::TooLarge);
        }
        number = Number::scan(scanner, A_TIME)?;
    }
}

/// `%`, and the share that the number before it means.
pub(crate) fn share_after(
    scanner: &mut Scanner<'_>,
    number: Number<'_>,
) -> Result<Option<Share>, Mistake> {
    let mut ahead = scanner.clone();
    ahead.skip_space();
    if !ahead.eat("%") {
        return Ok(None);
    }
    *scanner = ahead;
    let millionths = number.times(PERCENT.into(), "millionths of the trace")?;
    let share = u32::try_from(millionths).ok().and_then(Share::new);
    share.map(Some).ok_or(Mistake::MoreThanAll)
}

/// A decimal number as it stands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Number<'t> {
    whole: &'t str,
    fraction: &'t str,
}

impl<'t> Number<'t> {
    /// # Errors
    /// If there is none; then `expected` was.
    pub(crate) fn scan(scanner: &mut Scanner<'t>, expected: &'static str) -> Result<Self, Mistake> {
        let whole = scanner.take_while(|next| next.is_ascii_digit());
        if whole.is_empty() {
            return Err(Mistake::Expected(expected));
        }
        let mut decimals = scanner.clone();
        let has_decimals =
            decimals.eat(".") && decimals.peek().is_some_and(|next| next.is_ascii_digit());
        let mut fraction = "";
        if has_decimals {
            fraction = decimals.take_while(|next| next.is_ascii_digit());
            *scanner = decimals;
        }
        Ok(Self { whole, fraction: fraction.trim_end_matches('0') })
    }

    pub(crate) fn is_zero(self) -> bool {
        self.fraction.is_empty() && self.whole.bytes().all(|digit| digit == b'0')
    }

    /// So many times `scale`, in integers.
    pub(crate) fn times(self, scale: u64, units: &'static str) -> Result<u64, Mistake> {
        // Anything smaller than a part in 10^20 of the greatest unit is no whole number.
        let decimals = self.fraction.len().min(MOST_DECIMALS);
        let divisor = 10_u128.pow(decimals as u32);
        let whole: u128 = self.whole.parse().map_err(|_| Mistake::TooLarge)?;
        let scaled = whole.checked_mul(scale.into()).ok_or(Mistake::TooLarge)?;
        let part = digits(&self.fraction[..decimals]) * u128::from(scale);
        let sum = scaled.checked_add((part + divisor / 2) / divisor).ok_or(Mistake::TooLarge)?;
        let nearest = u64::try_from(sum).map_err(|_| Mistake::TooLarge)?;
        match decimals == self.fraction.len() && part.is_multiple_of(divisor) {
            true => Ok(nearest),
            false => Err(Mistake::NotWhole { units, nearest }),
        }
    }
}

/// More are not looked at.
const MOST_DECIMALS: usize = 20;

/// At most 20 digits.
fn digits(text: &str) -> u128 {
    text.bytes().fold(0, |value, digit| value * 10 + u128::from(digit - b'0'))
}

/// The unit that comes next, right behind the number or after a space; none if no letter does, or if
/// what comes after the space is no unit.
pub(crate) fn unit(
    scanner: &mut Scanner<'_>,
    units: &[(&str, u64)],
) -> Result<Option<u64>, Mistake> {
    let mut ahead = scanner.clone();
    let has_space = ahead.skip_space();
    let from = ahead.at();
    let word = ahead.take_while(|next| next.is_alphabetic());
    let found = units.iter().find(|(name, _)| name.eq_ignore_ascii_case(word));
    match found {
        Some(&(_, scale)) => {
            *scanner = ahead;
            Ok(Some(scale))
        }
        None if has_space || word.is_empty() => Ok(None),
        None => {
            scanner.mark(from..ahead.at());
            Err(Mistake::UnknownUnit(clipped(word)))
        }
    }
}
