//! Values that are typed by their names, as the command line takes them.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use lifetrace_human::named::Named;

/// Takes one of the names, and shows all of them with what they mean.
pub fn one_of<T: Named>() -> impl TypedValueParser<Value = T> {
    let shown = |value: &T| PossibleValue::new(value.name()).help(value.about());
    let names = PossibleValuesParser::new(T::ALL.iter().map(shown));
    names.try_map(|name| T::named(&name).ok_or("is none of the names"))
}

/// A value of one of two enumerations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Either<T, U> {
    /// Of the first.
    One(T),
    /// Of the second.
    Other(U),
}

/// Takes one of the names of both, and shows all of them with what they mean.
pub fn either<T: Named, U: Named>() -> impl TypedValueParser<Value = Either<T, U>> {
    let one = T::ALL.iter().map(|value| PossibleValue::new(value.name()).help(value.about()));
    let other = U::ALL.iter().map(|value| PossibleValue::new(value.name()).help(value.about()));
    PossibleValuesParser::new(one.chain(other)).try_map(|name| {
        let one = T::named(&name).map(Either::One);
        one.or_else(|| U::named(&name).map(Either::Other)).ok_or("is none of the names")
    })
}
