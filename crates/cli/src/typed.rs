//! Values that are typed by their names, as the command line takes them.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use lifetrace_human::named::Named;

/// Takes one of the names, and shows all of them with what they mean.
pub fn one_of<T: Named>() -> impl TypedValueParser<Value = T> {
    let shown = |value: &T| PossibleValue::new(value.name()).help(value.about());
    let names = PossibleValuesParser::new(T::ALL.iter().map(shown));
    names.try_map(|name| T::named(&name).ok_or("is none of the names"))
}
