//! Gates as they are typed, and how often they cry wolf.

mod alarms;
mod typed;
