//! Our own format, through its public face.

mod copies;
mod damage;
mod facts;
mod golden;
mod independent;
mod limits;
mod property;
mod sample;
mod support;
