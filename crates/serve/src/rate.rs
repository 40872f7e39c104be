//! Another rate that somebody wants for a process.

use lifetrace_human::json_text;
use lifetrace_recorder::{Collector, Rate, RateError};
use serde::Serialize;

use crate::http::Response;

#[derive(Serialize)]
struct Changed {
    pid: u32,
    interval_bytes: u64,
    interval_bytes_before: u64,
    /// A managed runtime whose heap is sampled as before.
    unchanged: Option<String>,
}

/// Has malloc's blocks of a process sampled once in so many bytes from now on.
pub fn answer(collector: &Collector, pid: u32, interval: u64) -> Response {
    let Some(rate) = Rate::from_interval(interval) else {
        return Response::refusal(400, "interval: is a size above 0");
    };
    let change = match collector.change_rate(pid, rate) {
        Ok(change) => change,
        Err(error @ RateError::NotRecorded(_)) => {
            return Response::refusal(404, &error.to_string());
        }
        Err(error) => return Response::refusal(409, &error.to_string()),
    };
    let changed = Changed {
        pid,
        interval_bytes: interval,
        interval_bytes_before: change.before.interval().round() as u64,
        unchanged: change.beside,
    };
    match json_text::pretty(&changed) {
        Ok(text) => Response::json(text),
        Err(error) => Response::refusal(500, &error.to_string()),
    }
}
