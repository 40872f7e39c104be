use std::fs;

use tempfile::TempDir;

use super::*;

/// A crate with these files besides `lib.rs`, whose text comes first.
fn circles(lib: &str, files: &[(&str, &str)]) -> Vec<Circle> {
    let folder = TempDir::new().unwrap();
    for (name, text) in files.iter().chain([&("lib.rs", lib)]) {
        let file = folder.path().join("src").join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }
    graph(&folder.path().join("src/lib.rs")).unwrap().circles()
}

/// The last part of each file's name.
fn shape(circles: &[Circle]) -> Vec<Vec<String>> {
    let name = |file: String| file.rsplit('/').next().unwrap().to_owned();
    circles.iter().map(|circle| circle.files().into_iter().map(name).collect()).collect()
}

fn check(lib: &str, files: &[(&str, &str)], expect: &[&[&str]]) {
    assert_eq!(shape(&circles(lib, files)), expect, "{lib} {files:?}");
}

const AB: &str = "mod a; mod b;";

#[test]
fn files_that_lead_to_each_other_are_a_circle() {
    let b = ("b.rs", "use crate::a::A; pub struct B(A);");
    check(AB, &[("a.rs", "pub struct A;"), b], &[]);
    let circle: &[&[&str]] = &[&["a.rs", "b.rs"]];
    check(AB, &[("a.rs", "use crate::b; pub struct A(b::B);"), b], circle);
    check(AB, &[("a.rs", "pub struct A(super::b::B);"), b], circle);
    check(AB, &[("a.rs", "use super::{b::{self as c, B}, x}; pub struct A;"), b], circle);
    check(AB, &[("a.rs", "pub struct A; fn f() { vec![Some(crate::b::B)]; }"), b], circle);
    check(AB, &[("a.rs", "pub struct A; fn f() { use crate::b::*; }"), b], circle);
    check(AB, &[("a.rs", "#[error(\"{}\", crate::b::B)] pub struct A;"), b], circle);
    check(AB, &[("a.rs", "pub struct A; mod inner { use super::super::b::B; }"), b], circle);
    // A module is named, and nothing of it.
    check(AB, &[("a.rs", "use crate::b; pub struct A;"), b], &[]);
}

#[test]
fn longer_circles_are_found_and_what_only_leads_there_is_no_part_of_them() {
    let files = [
        ("a.rs", "use crate::b::B; pub struct A;"),
        ("b.rs", "use crate::c::C; pub struct B;"),
        ("c.rs", "use crate::a::A; use crate::d::D; pub struct C;"),
        ("d.rs", "pub struct D;"),
        ("e.rs", "use crate::a::A;"),
    ];
    check("mod a; mod b; mod c; mod d; mod e;", &files, &[&["a.rs", "b.rs", "c.rs"]]);
}

#[test]
fn re_exports_lead_to_the_file_that_has_the_name() {
    let room = ("b/mod.rs", "mod inner; mod other; pub use inner::{B as C}; pub use other::*;");
    let other = ("b/other.rs", "use crate::a::A; pub fn o() {}");
    let inner = ("b/inner.rs", "pub struct B;");
    // The room leads to `a` by `other`, and is not named itself.
    let a = "use crate::b::C; pub struct A;";
    check(AB, &[("a.rs", a), room, other, inner], &[]);
    let a = "use crate::b; pub struct A; fn f() { b::o() }";
    check(AB, &[("a.rs", a), room, other, inner], &[&["a.rs", "other.rs"]]);
    // Through two modules, and one that has its own name.
    let lib = "mod a; mod b; mod c; pub use b::C as D;";
    let c = ("c.rs", "pub use crate::D; pub use c as c;");
    let a = "use crate::c::D; pub struct A;";
    let inner = ("b/inner.rs", "use crate::a::A; pub struct B;");
    check(lib, &[("a.rs", a), room, other, inner, c], &[&["a.rs", "inner.rs"]]);
}

#[test]
fn a_module_and_those_beneath_it_are_one_room() {
    let lib = "mod a; pub struct Root;";
    let inner = ("a/inner.rs", "use super::A; use crate::Root; pub struct Inner;");
    check(lib, &[("a.rs", "mod inner; pub struct A(inner::Inner);"), inner], &[]);
}

#[test]
fn tests_and_visibilities_and_other_crates_name_nothing() {
    let b = ("b.rs", "use crate::a::A; pub struct B;");
    let a = "use b::B; pub(in crate::b) struct A; #[cfg(test)] use crate::b::B as C;
        #[cfg(test)] mod tests { use crate::b::B; } #[cfg(test)] mod missing;
        #[cfg(all(test, unix))] fn f() { crate::b::B; }";
    check(AB, &[("a.rs", a), b], &[]);
    let a = "pub struct A; #[cfg(any(test, unix))] fn f() { crate::b::B; }";
    check(AB, &[("a.rs", a), b], &[&["a.rs", "b.rs"]]);
}

#[test]
fn files_are_where_attributes_say() {
    let a = "pub struct A;
        #[cfg_attr(x, path = \"here.rs\")] #[cfg_attr(y, path = \"there.rs\")] mod arch;";
    let files = [("a.rs", a), ("here.rs", ""), ("there.rs", "use crate::b::B;")];
    let b = ("b.rs", "pub struct B(crate::a::arch::C);");
    check(AB, &[files[0], files[1], files[2], b], &[&["b.rs", "there.rs"]]);
}

#[test]
fn what_is_no_rust_is_a_fault_with_its_file() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("lib.rs");
    fs::write(&file, "fn (").unwrap();
    let fault = format!("{:#}", graph(&file).unwrap_err());
    assert!(fault.contains("lib.rs is not Rust: "), "{fault}");
    fs::write(&file, "mod missing;").unwrap();
    let fault = format!("{:#}", graph(&file).unwrap_err());
    assert!(fault.contains("missing/mod.rs"), "{fault}");
}

#[test]
fn circles_are_refused_unless_they_are_meant_and_what_is_meant_has_to_be_one() {
    let files = [("a.rs", "pub struct A(crate::b::B);"), ("b.rs", "pub struct B(crate::a::A);")];
    let all = circles(AB, &files);
    let faults = faults_of(&all, &[]);
    assert!(faults[0].starts_with("  2 files\n    /"), "{faults:?}");
    assert!(faults[0].contains("/a.rs -> /"), "{faults:?}");
    let folder = all[0].files().first().unwrap().split_once("/src/").unwrap().0.to_owned();
    let of: &'static str = Box::leak(folder.into_boxed_str());
    let meant = |files| Meant { of, files, why: "" };
    assert_eq!(faults_of(&all, &[meant(&["a.rs", "b.rs"])]), Vec::<String>::new());
    assert_eq!(faults_of(&all, &[meant(&["a.rs"])]).len(), 2);
    let faults = faults_of(&[], &[meant(&["a.rs", "b.rs"])]);
    assert!(faults[0].contains("no circle any more"), "{faults:?}");
}
