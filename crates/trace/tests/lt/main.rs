//! Our own format, through its public face.

mod ahead;
mod copies;
mod crowd;
mod damage;
mod facts;
mod golden;
mod golden_damage;
mod growing;
mod independent;
mod limits;
mod managed;
mod property;
mod repairing;
mod sample;
mod slicing;
mod stripping;
mod support;
