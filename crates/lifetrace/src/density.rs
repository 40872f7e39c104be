//! How densely to sample.

use lifetrace_recorder::Rate;

use crate::error::Error;

/// How densely to sample, as it is said.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Density {
    Interval(u64),
    PerByte(f64),
}

impl Density {
    pub(crate) fn rate(self) -> Result<Rate, Error> {
        match self {
            Density::Interval(bytes) => Rate::from_interval(bytes)
                .ok_or_else(|| Error::Rate(format!("an interval of {bytes} bytes"))),
            Density::PerByte(rate) => Rate::from_probability_per_byte(rate)
                .ok_or_else(|| Error::Rate(format!("a rate of {rate}"))),
        }
    }
}
