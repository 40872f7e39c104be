//! Names as collapsed stacks have them: `outermost;...;innermost NUMBER`, one line a stack.
//!
//! The format has neither comments nor escapes: a semicolon is between names, and two numbers at the end of a line are a
//! comparison of two profiles.

/// A function's name in which `;` is `:`, and the space before a number at its end `_`.
pub fn name(function: &str) -> String {
    let name = function.replace(';', ":");
    match name.rsplit_once(' ') {
        Some((start, end)) if end.parse::<f64>().is_ok() => format!("{start}_{end}"),
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        for (function, expected) in [
            ("std::vector<int>::grow", "std::vector<int>::grow"),
            ("operator new(unsigned long)", "operator new(unsigned long)"),
            ("Ljava/lang/String;", "Ljava/lang/String:"),
            ("block 2", "block_2"),
            ("1e3 -0.5", "1e3_-0.5"),
            ("17", "17"),
        ] {
            assert_eq!(name(function), expected);
        }
    }
}
