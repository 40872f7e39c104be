//! Shapes of growth.

use lifetrace_analysis::statistics::Shape;

/// What a shape of growth is called.
pub fn shape_name(shape: Shape) -> &'static str {
    match shape {
        Shape::Line => "line",
        Shape::Steps => "steps",
        Shape::Plateau => "plateau",
        Shape::StartUp => "start-up",
        Shape::Unknown => "unknown",
    }
}
