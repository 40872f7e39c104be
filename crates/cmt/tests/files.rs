//! What is read of files that compilers have written, and what is said of damaged ones.

use std::path::PathBuf;

use lifetrace_cmt::{Kind, Name, ReadError, Representation, Type, TypeId, Unit, read};
use proptest::prelude::*;

const VERSIONS: [&str; 2] = ["4.13", "5.3"];

fn file(name: &str, version: &str) -> Vec<u8> {
    let fixtures = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/cmt");
    std::fs::read(fixtures.join(format!("{name}-{version}.cmt"))).unwrap()
}

/// A type as OCaml writes it, more or less.
fn text(unit: &Unit, TypeId(of): TypeId) -> String {
    let all = |of: &[TypeId]| of.iter().map(|&it| text(unit, it)).collect::<Vec<_>>();
    match &unit.types[of as usize] {
        Type::Unknown => "?".to_owned(),
        Type::Variable(_) => "'a".to_owned(),
        Type::Arrow => "->".to_owned(),
        Type::Tuple(parts) => all(parts).join(" * "),
        Type::Named(name, arguments) => {
            let (Name::Predefined(name) | Name::Of(name)) = name else { return "?".to_owned() };
            [&all(arguments)[..], std::slice::from_ref(name)].concat().join(" ")
        }
        Type::Object => "< >".to_owned(),
        Type::PolymorphicVariant => "[ ]".to_owned(),
        Type::Package => "(module)".to_owned(),
    }
}

fn fields(unit: &Unit, of: &[lifetrace_cmt::Field]) -> String {
    let each = of.iter().map(|it| format!("{}: {}", it.name, text(unit, it.r#type)));
    each.collect::<Vec<_>>().join("; ")
}

/// All declarations, a line for each.
fn lines(unit: &Unit) -> Vec<String> {
    let mut lines = Vec::new();
    for declaration in &unit.declarations {
        let name = &declaration.name;
        match &declaration.kind {
            Kind::Record(of, Representation::Regular) => {
                lines.push(format!("{name} {{{}}}", fields(unit, of)));
            }
            Kind::Record(of, representation) => {
                lines.push(format!("{name} {representation:?} {{{}}}", fields(unit, of)));
            }
            Kind::Variant(constructors, is_unboxed) => {
                for it in constructors {
                    let unboxed = if *is_unboxed { "unboxed " } else { "" };
                    lines.push(format!(
                        "{name} {unboxed}{} {{{}}}",
                        it.name,
                        fields(unit, &it.fields)
                    ));
                }
            }
            other => lines.push(format!("{name} {other:?}")),
        }
    }
    for exception in &unit.exceptions {
        lines.push(format!("exception {} {{{}}}", exception.name, fields(unit, &exception.fields)));
    }
    for alias in &unit.aliases {
        lines.push(format!("module {} = {:?}", alias.from, alias.to));
    }
    lines
}

#[test]
fn declarations_of_each_version() {
    for version in VERSIONS {
        let unit = read(&file("shop", version)).unwrap();
        assert_eq!(unit.name, "Shop", "{version}");
        assert_eq!(
            lines(&unit),
            [
                "Shop.color Red {}",
                "Shop.color Green {}",
                "Shop.color Custom {: int; : int; : int}",
                "Shop.item {name: string; price: float; stock: int; extra: 'a option}",
                "Shop.point Floats {x: float; y: float}",
                "Shop.id unboxed Id {: int}",
                "Shop.Cart.t {id: Shop.id; items: string Shop.item list; color: Shop.color; on_sale: -> option}",
                "Shop.node Leaf {}",
                "Shop.node Node {left: Shop.node; value: int64; right: Shop.node}",
                "exception Shop.Cart.Full {: string; : int}",
                "module Shop.Names = Of(\"Stdlib.Map.Make\")",
                "module Shop.Table = Of(\"Shop.Names\")",
            ],
            "{version}"
        );
        let item = &unit.declarations[1];
        let Kind::Record(of, _) = &item.kind else { panic!() };
        let Type::Named(_, arguments) = &unit.types[of[3].r#type.0 as usize] else { panic!() };
        assert_eq!(arguments, &item.parameters, "{version}: the option is of the parameter");
    }
}

#[test]
fn what_occurs_without_being_declared() {
    for version in VERSIONS {
        let unit = read(&file("shop", version)).unwrap();
        let tuples: Vec<_> = unit.tuples.iter().map(|it| it.len()).collect();
        assert!(tuples.contains(&2), "{version}: pair makes one: {tuples:?}");
        let arrays: Vec<_> = unit.arrays.iter().map(|&it| text(&unit, it)).collect();
        assert!(arrays.contains(&"exn".to_owned()), "{version}: {arrays:?}");
        assert!(!unit.modules.is_empty() && !unit.has_polymorphic_variants, "{version}");
        assert!(unit.imports.contains(&"Stdlib__Map".to_owned()), "{version}: {:?}", unit.imports);
    }
}

#[test]
fn a_file_that_was_cut_is_refused_wherever_it_was() {
    for version in VERSIONS {
        let whole = file("tiny", version);
        for length in 0..whole.len() {
            // What the file of a unit has beside its tree comes first, and the tree is its last value.
            assert!(read(&whole[..length]).is_err(), "{version}: {length} of {}", whole.len());
        }
    }
}

#[test]
fn no_flipped_bit_makes_it_panic() {
    for version in VERSIONS {
        let mut bytes = file("tiny", version);
        for at in 0..bytes.len() {
            for bit in 0..8 {
                bytes[at] ^= 1 << bit;
                // Names may have other letters afterwards; else there is an error, or nothing is left of a declaration.
                drop(read(&bytes).map(|unit| lines(&unit)));
                bytes[at] ^= 1 << bit;
            }
        }
        assert_eq!(lines(&read(&bytes).unwrap()).len(), 4, "{version}");
    }
}

#[test]
fn other_files_and_other_versions_are_told() {
    let other = read(b"\x7fELF and so on").unwrap_err();
    assert!(matches!(other, ReadError::NoCmt), "{other}");
    let later = read(b"Caml1999T036....").unwrap_err().to_string();
    assert!(later.contains("OCaml 5.4") && later.contains("4.13, 4.14 and 5.3"), "{later}");
    let strange = read(b"Caml1999T999....").unwrap_err().to_string();
    assert!(strange.contains("Caml1999T999"), "{strange}");
}

/// Marshalled values, without compression.
fn marshalled(data: &[u8]) -> Vec<u8> {
    let length = (data.len() as u32).to_be_bytes();
    [&b"Caml1999T030\x84\x95\xa6\xbe"[..], &length, &[0; 12], data].concat()
}

#[test]
fn a_block_that_claims_to_be_endless_is_refused() {
    for header in [&b"\x08\xff\xff\xff\x00"[..], b"\x13\x00\xff\xff\xff\xff\xff\xff\x00"] {
        let error = read(&marshalled(header)).unwrap_err();
        assert_eq!(error.to_string(), "is damaged: it ends too early");
    }
}

#[test]
fn a_list_that_leads_to_itself_has_an_end() {
    // A block of two, whose second field refers to the block: where a list of folders ought to be.
    let fields =
        [&b"\x21U"[..], b"\x40", b"\x40\x40\x40\x40\x40", b"\xa0\x40\x04\x01", b"\x40\x40\x40"];
    let infos = [&b"\x08\x00\x00\x2c\x00"[..], &fields.concat()].concat();
    let error = read(&marshalled(&infos)).unwrap_err();
    assert_eq!(error.to_string(), "is damaged: its values are no typed tree");
}

proptest! {
    #[test]
    fn any_values_are_read_or_refused(data in prop::collection::vec(any::<u8>(), 0..2000)) {
        drop(read(&marshalled(&data)));
    }

    /// Most bytes are codes of small blocks and references, so the graphs are deep and have circles.
    #[test]
    fn any_graphs_are_read_or_refused(
        data in prop::collection::vec(prop_oneof![0x80u8..=0xff, 0x04u8..=0x04, 0x20u8..=0x48], 0..4000)
    ) {
        let tree = [&b"\x08\x00\x00\x2c\x00\x21U"[..], &data].concat();
        drop(read(&marshalled(&tree)));
    }
}
