//! What the fuzz targets have in common.

pub mod lt;
