//! Values of which people type one by its name.

/// An enumeration that [`named!`](crate::named!) has made.
pub trait Named: Copy + PartialEq + Send + Sync + 'static {
    /// All values, in the order in which they are shown.
    const ALL: &'static [Self];

    /// What is typed: lower-case letters with hyphens.
    fn name(self) -> &'static str;

    /// What it means, in a phrase without a full stop.
    fn about(self) -> &'static str;

    /// The value that has this name.
    fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|value| value.name() == name)
    }
}

/// Defines an enumeration whose values have names to be typed. The comment of each value, a phrase of one
/// line, is what a command line shows of it.
///
/// ```
/// use lifetrace_human::named::Named;
///
/// lifetrace_human::named! {
///     /// How blocks are ordered.
///     pub enum Order {
///         /// The oldest first
///         ByAge = "by-age",
///     }
/// }
///
/// assert_eq!(Order::named("by-age"), Some(Order::ByAge));
/// assert_eq!(Order::ByAge.about(), "The oldest first");
/// ```
#[macro_export]
macro_rules! named {
    ($(#[$outer:meta])* $visibility:vis enum $Enum:ident {
        $(#[doc = $about:literal] $(#[$inner:meta])* $Value:ident = $name:literal,)+
    }) => {
        $(#[$outer])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        $visibility enum $Enum {
            $(#[doc = $about] $(#[$inner])* $Value,)+
        }

        impl $crate::named::Named for $Enum {
            const ALL: &'static [Self] = &[$(Self::$Value),+];

            fn name(self) -> &'static str {
                match self {
                    $(Self::$Value => $name,)+
                }
            }

            fn about(self) -> &'static str {
                let about = match self {
                    $(Self::$Value => $about,)+
                };
                about.trim_ascii()
            }
        }
    };
}
