//! Heap snapshots: written, read, damaged.

mod damage;
mod golden;
mod property;
mod sample;
mod support;
