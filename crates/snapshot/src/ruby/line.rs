//! One line of a dump.

use std::borrow::Cow;
use std::sync::Arc;

use lifetrace_trace::lth::Form;
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// Characters of a string that are shown.
const MOST_SHOWN: usize = 60;

/// What is used of a line.
#[derive(Debug, Deserialize)]
pub(super) struct Line<'a> {
    #[serde(rename = "type")]
    pub(super) kind: Type,
    pub(super) address: Option<Address>,
    pub(super) class: Option<Address>,
    superclass: Option<Address>,
    pub(super) memsize: Option<u64>,
    #[serde(default)]
    pub(super) references: Vec<Address>,
    #[serde(borrow)]
    pub(super) root: Option<Cow<'a, str>>,
    #[serde(borrow)]
    name: Option<Cow<'a, str>>,
    #[serde(borrow)]
    imemo_type: Option<Cow<'a, str>>,
    #[serde(rename = "struct", borrow)]
    structure: Option<Cow<'a, str>>,
    #[serde(default)]
    singleton: bool,
}

/// What a class is called, and what it descends from.
#[derive(Debug)]
pub(super) struct Class {
    pub(super) name: Option<Arc<str>>,
    pub(super) superclass: u64,
    pub(super) is_singleton: bool,
}

/// An address, as `"0x7fd987de81a0"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Address(pub(super) u64);

impl<'de> Deserialize<'de> for Address {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Address, D::Error> {
        struct Hexadecimal;
        impl Visitor<'_> for Hexadecimal {
            type Value = Address;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an address as \"0x7f00\"")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Address, E> {
                text.strip_prefix("0x")
                    .and_then(hexadecimal)
                    .map(Address)
                    .ok_or_else(|| E::custom(format!("{text:?} is no address")))
            }
        }
        from.deserialize_str(Hexadecimal)
    }
}

/// Of at most 16 digits.
fn hexadecimal(digits: &str) -> Option<u64> {
    if digits.is_empty() || digits.len() > 16 {
        return None;
    }
    digits.bytes().try_fold(0, |value, digit| {
        let digit = match digit {
            b'0'..=b'9' => digit - b'0',
            b'a'..=b'f' => digit - b'a' + 10,
            _ => return None,
        };
        Some(value << 4 | u64::from(digit))
    })
}

macro_rules! types {
    ($($name:ident = $text:literal),* $(,)?) => {
        /// What the machine calls types of objects, and what else lines are of.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
        pub(super) enum Type {
            $(#[serde(rename = $text)] $name,)*
            #[serde(other)]
            Other,
        }

        impl Type {
            /// As `ObjectSpace.count_objects` calls it.
            pub(super) fn name(self) -> &'static str {
                match self {
                    $(Type::$name => concat!("T_", $text),)*
                    Type::Other => "of another type",
                }
            }
        }
    };
}

types! {
    Root = "ROOT", Shape = "SHAPE", Object = "OBJECT", Class = "CLASS", Module = "MODULE", Float = "FLOAT",
    String = "STRING", Regexp = "REGEXP", Array = "ARRAY", Hash = "HASH", Struct = "STRUCT", Bignum = "BIGNUM",
    File = "FILE", Data = "DATA", Match = "MATCH", Complex = "COMPLEX", Rational = "RATIONAL", Symbol = "SYMBOL",
    IMemo = "IMEMO", Node = "NODE", IClass = "ICLASS", Zombie = "ZOMBIE",
}

impl Type {
    /// Whether programs do not see objects of that type.
    pub(super) fn is_internal(self) -> bool {
        matches!(self, Type::IMemo | Type::Node | Type::IClass | Type::Zombie | Type::Other)
    }
}

impl Type {
    /// What objects of that type are, whatever the runtime.
    pub(super) fn form(self) -> Form {
        if self.is_internal() { Form::Internal } else { Form::Instance }
    }
}

impl Line<'_> {
    /// What tells an object apart beside its type and class.
    pub(super) fn detail(&self) -> Option<&str> {
        self.imemo_type.as_deref().or(self.structure.as_deref())
    }

    pub(super) fn as_class(&self) -> Class {
        Class {
            name: self.name.as_deref().map(Into::into),
            superclass: self.superclass.map(|address| address.0).unwrap_or_default(),
            is_singleton: self.singleton,
        }
    }
}

/// What a line says of its object beside its class, in a few words: `"GET /"`, `3 elements`, `Foo::Bar`; nothing if
/// there is nothing to say, or that is no such line. Of a long line its beginning does.
pub fn description(line: &[u8]) -> String {
    let Ok(value) = beginning(line) else { return String::new() };
    let text = |name: &str| value[name].as_str();
    let number = |name: &str| value[name].as_u64();
    let kind = text("type").unwrap_or_default();
    match kind {
        "CLASS" | "MODULE" | "ICLASS" => match (text("name"), text("real_class_name")) {
            (Some(name), _) => name.to_owned(),
            (None, Some(of)) => format!("singleton, of {of}"),
            (None, None) => String::new(),
        },
        "STRING" | "SYMBOL" => text("value").map(shown).unwrap_or_default(),
        "ARRAY" => elements(number("length").unwrap_or_default(), "element"),
        "HASH" => elements(number("size").unwrap_or_default(), "entry"),
        "OBJECT" => {
            number("ivars").map_or(String::new(), |count| elements(count, "instance variable"))
        }
        "IMEMO" => text("imemo_type").unwrap_or_default().to_owned(),
        "DATA" => text("struct").unwrap_or_default().to_owned(),
        "FILE" => number("fd").map_or(String::new(), |fd| format!("descriptor {fd}")),
        _ => String::new(),
    }
}

/// All that comes before a line's references, which may be many.
fn beginning(line: &[u8]) -> serde_json::Result<Value> {
    const REFERENCES: &[u8] = b", \"references\":[";
    let found = line.windows(REFERENCES.len()).position(|part| part == REFERENCES);
    match found {
        Some(end) => serde_json::from_slice(&[&line[..end], b"}"].concat()),
        None => serde_json::from_slice(line),
    }
}

fn elements(count: u64, of: &str) -> String {
    match (count, of.strip_suffix('y')) {
        (1, _) => format!("1 {of}"),
        (_, Some(stem)) => format!("{count} {stem}ies"),
        (_, None) => format!("{count} {of}s"),
    }
}

fn shown(text: &str) -> String {
    match text.char_indices().nth(MOST_SHOWN) {
        Some((end, _)) => format!("{:?}…", &text[..end]),
        None => format!("{text:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_hexadecimal() {
        let address = |text: &str| serde_json::from_str::<Address>(text).ok();
        assert_eq!(address(r#""0x7fd987de81a0""#), Some(Address(0x7fd9_87de_81a0)));
        assert_eq!(address(r#""0xffffffffffffffff""#), Some(Address(u64::MAX)));
        for text in [r#""0x""#, r#""7f""#, r#""0x1ffffffffffffffff""#, r#""0x-1""#, "7"] {
            assert_eq!(address(text), None, "{text}");
        }
    }

    #[test]
    fn an_object_is_described_by_what_it_is() {
        for (line, expected) in [
            (r#"{"type":"STRING","value":"GET /"}"#, "\"GET /\""),
            (r#"{"type":"STRING"}"#, ""),
            (r#"{"type":"ARRAY","length":1}"#, "1 element"),
            (r#"{"type":"HASH","size":20}"#, "20 entries"),
            (r#"{"type":"CLASS","name":"A::B"}"#, "A::B"),
            (
                r#"{"type":"CLASS","real_class_name":"Class","singleton":true}"#,
                "singleton, of Class",
            ),
            (r#"{"type":"DATA","struct":"proc"}"#, "proc"),
            (r#"{"type":"IMEMO","imemo_type":"iseq"}"#, "iseq"),
            (r#"{"type":"HASH", "size":2, "references":["0x10", "0x"#, "2 entries"),
            ("nonsense", ""),
        ] {
            assert_eq!(description(line.as_bytes()), expected);
        }
        let long = format!(r#"{{"type":"STRING","value":"{}"}}"#, "é".repeat(99));
        assert_eq!(description(long.as_bytes()), format!("\"{}\"…", "é".repeat(MOST_SHOWN)));
    }
}
