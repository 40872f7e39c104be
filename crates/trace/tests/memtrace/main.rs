//! Memtrace's format, read and written: real traces, hard cases, damage, and a naive decoder as a twin.

mod allocations;
mod backtraces;
mod conformance;
mod damage;
mod document;
mod locations;
mod naive;
mod packets;
mod property;
mod support;
mod times;
