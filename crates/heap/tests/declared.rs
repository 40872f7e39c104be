//! Blocks beside the types that `fixtures/cmt/shop.ml` declares.

use std::path::{Path, PathBuf};

use lifetrace_heap::{Block, Opened, Sources, Types, Which};
use lifetrace_trace::lth::{self, Address, Field, Form, Header, Kind, Outcome, Root, Writer};
use serde_json::{Value, json};

const VALUE: Field = Field::Value;

fn to(number: u64) -> Field {
    Field::To(address(number))
}

fn address(number: u64) -> Address {
    Address(0x1000 + 0x100 * number)
}

/// A heap whose blocks are of these kinds, the first of which a variable of that unit holds.
fn heap(runtime: &str, unit: &str, blocks: &[(&str, &[Field])]) -> tempfile::NamedTempFile {
    let header = Header { runtime: runtime.into(), word_bytes: 8, ..Header::default() };
    let mut writer = Writer::new(Vec::new(), &header).unwrap();
    let form = |name: &str| match name {
        "string" => Form::String,
        "float" => Form::Float,
        "closure" => Form::Closure,
        "int64" => Form::Custom,
        _ => Form::Fields,
    };
    let kinds: Vec<_> = blocks
        .iter()
        .map(|(name, _)| writer.kind(&Kind { name: (*name).into(), form: form(name) }).unwrap())
        .collect();
    let root = Root {
        category: "globals".into(),
        name: Some(format!("{unit}, field 1").into()),
        slot: Address(8),
        to: to(0),
    };
    writer.root(&root).unwrap();
    for ((number, &(name, fields)), &kind) in (0..).zip(blocks).zip(&kinds) {
        let words = if form(name) == Form::Fields { fields.len() as u64 } else { 1 };
        let (address, bytes) = (address(number), 8 * (words + 1));
        let block = lth::Block { address, bytes, outside: 0, kind, fields, detail: None };
        writer.block(&block).unwrap();
    }
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), writer.finish(&Outcome::default()).unwrap()).unwrap();
    file
}

fn types(version: &str) -> PathBuf {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/cmt");
    fixtures.join(format!("shop-{version}.cmt"))
}

fn declared(version: &str, blocks: &[(&str, &[Field])]) -> (Opened, tempfile::NamedTempFile) {
    let file = heap("OCaml 4.13", "Shop", blocks);
    let mut opened = Opened::new(file.path()).unwrap();
    opened.declare(&Sources::of(&[types(version)]).unwrap()).unwrap();
    (opened, file)
}

/// What a block is said to be, and how that is known.
fn told(opened: &Opened, number: u64) -> Value {
    let Address(at) = address(number);
    let block = Block::new(opened, &Which::At(at), 10).unwrap();
    let evidence = &serde_json::to_value(&block).unwrap()["evidence"];
    match &evidence["type"] {
        Value::Null => evidence["is_contradicted"].clone(),
        name => json!([name, evidence["by"]]),
    }
}

/// A cart with a list of so many cells, the last of which has one block more than the others; then what is given.
fn cart_and(
    cells: u64,
    last: &[(&'static str, &'static [Field])],
) -> Vec<(&'static str, Vec<Field>)> {
    let item = 4 + cells;
    let mut blocks = vec![
        ("tag 0", vec![VALUE, to(4), to(1), to(2)]),
        ("tag 0", vec![VALUE, VALUE, VALUE]),
        ("tag 0", vec![to(3)]),
        ("closure", vec![]),
    ];
    for cell in 4..item {
        let rest = if cell + 1 < item { to(cell + 1) } else { VALUE };
        let element = if cell + 1 < item { Field::Outside } else { to(item) };
        blocks.push(("tag 0", vec![element, rest]));
    }
    blocks.extend(last.iter().map(|(kind, fields)| (*kind, fields.to_vec())));
    blocks
}

fn slices<'a>(blocks: &'a [(&'static str, Vec<Field>)]) -> Vec<(&'a str, &'a [Field])> {
    blocks.iter().map(|(kind, fields)| (*kind, &fields[..])).collect()
}

#[test]
fn one_block_that_looks_like_nothing_else_names_what_it_holds() {
    let item: &[(&str, &[Field])] = &[
        ("tag 0", &[Field::To(Address(0x1600)), Field::To(Address(0x1700)), VALUE, VALUE]),
        ("string", &[]),
        ("float", &[]),
    ];
    for version in ["4.13", "5.3"] {
        let blocks = cart_and(1, item);
        let (opened, _file) = declared(version, &slices(&blocks));
        assert_eq!(told(&opened, 0), json!(["Shop.Cart.t", "shape"]), "{version}");
        assert_eq!(told(&opened, 1), json!(["Custom of Shop.color", "holder"]), "{version}");
        assert_eq!(told(&opened, 2), json!(["Some of option", "holder"]), "{version}");
        assert_eq!(told(&opened, 4), json!(["list cell", "holder"]), "{version}");
        assert_eq!(told(&opened, 5)[0], json!("Shop.item"), "{version}");
        let page = serde_json::to_value(Types::new(&opened, 100)).unwrap();
        let cart = page["types"].as_array().unwrap().iter().find(|it| it["type"] == "Shop.Cart.t");
        assert_eq!(cart.unwrap()["by_shape"], 1, "{page}");
        assert_eq!(page["declared"]["unknown_units"], json!([]), "{page}");
        assert!(page["declared"]["files"].as_u64() >= Some(1), "{page}");
    }
}

#[test]
fn what_is_not_what_it_ought_to_be_makes_its_holder_unbelieved() {
    // At the end of the list, further than is looked at first, is no item, but what nothing else looks like.
    let node: &[(&str, &[Field])] =
        &[("tag 0", &[VALUE, Field::To(Address(0x1b00)), VALUE]), ("int64", &[])];
    let blocks = cart_and(6, node);
    let (opened, _file) = declared("4.13", &slices(&blocks));
    assert_eq!(told(&opened, 0), json!(true));
    assert!(told(&opened, 10).is_boolean(), "{}", told(&opened, 10));
    let page = serde_json::to_value(Types::new(&opened, 100)).unwrap();
    assert!(page["declared"]["contradicted_types"].as_u64() >= Some(1), "{page}");
    // As long as the end of the list is not there, nothing contradicts it.
    let (opened, _file) = declared("4.13", &slices(&blocks)[..10]);
    assert_eq!(told(&opened, 0), json!(["Shop.Cart.t", "shape"]));
}

#[test]
fn what_several_types_look_like_has_no_name() {
    // Three values: a color, and an array of integers.
    let blocks: &[(&str, &[Field])] = &[("tag 0", &[VALUE, VALUE, VALUE])];
    let (opened, _file) = declared("4.13", blocks);
    assert_eq!(told(&opened, 0), json!(false));
    let page = serde_json::to_value(Types::new(&opened, 100)).unwrap();
    assert!(page["types"][0]["types_fit_least"].as_u64().unwrap() >= 2, "{page}");
    assert_eq!(page["types"][0]["type"], "3 fields");
}

#[test]
fn what_is_not_there_or_not_of_ocaml_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let error = Sources::of(&[folder.path().to_owned()]).unwrap_err().to_string();
    assert!(
        error.contains("there is no .cmt file in it") && error.contains("-bin-annot"),
        "{error}"
    );
    let error = Sources::of(&[folder.path().join("nowhere")]).unwrap_err();
    assert!(format!("{error:#}").contains("nowhere"), "{error:#}");
    std::fs::write(folder.path().join("later.cmt"), b"Caml1999T036...").unwrap();
    let error = format!("{:#}", Sources::of(&[folder.path().to_owned()]).unwrap_err());
    assert!(error.contains("later.cmt") && error.contains("OCaml 5.4"), "{error}");
    let file = heap("Ruby 3.1", "Shop", &[("tag 0", &[VALUE])]);
    let mut opened = Opened::new(file.path()).unwrap();
    let error = opened.declare(&Sources::of(&[types("4.13")]).unwrap()).unwrap_err().to_string();
    assert!(error.contains("Ruby 3.1"), "{error}");
}

#[test]
fn a_damaged_file_among_others_is_complained_of() {
    let folder = tempfile::tempdir().unwrap();
    let whole = std::fs::read(types("4.13")).unwrap();
    std::fs::write(folder.path().join("shop.cmt"), &whole).unwrap();
    std::fs::write(folder.path().join("other.cmt"), &whole[..1000]).unwrap();
    let file = heap("OCaml 4.13", "Shop", &[("tag 0", &[VALUE])]);
    let mut opened = Opened::new(file.path()).unwrap();
    opened.declare(&Sources::of(&[folder.path().to_owned()]).unwrap()).unwrap();
    let [complaint] = &opened.complaints[..] else { panic!("{:?}", opened.complaints) };
    assert!(complaint.contains("other.cmt: is damaged"), "{complaint}");
}

#[test]
fn no_block_is_named_where_a_unit_of_the_program_is_not_known() {
    let blocks = cart_and(1, &[("string", &[])]);
    let file = heap("OCaml 4.13", "Server", &slices(&blocks));
    let mut opened = Opened::new(file.path()).unwrap();
    opened.declare(&Sources::of(&[types("4.13")]).unwrap()).unwrap();
    assert_eq!(told(&opened, 0), Value::Null);
    let types = serde_json::to_value(Types::new(&opened, 10)).unwrap();
    assert_eq!(types["declared"]["unknown_units"], json!(["Server"]));
}
