//! Any bytes: they are a file of OCaml's compiler's, whose declarations are told; or what is wrong with them is said. What
//! is after the first byte is also taken for the values of a file that begins as it has to.

#![no_main]

use libfuzzer_sys::fuzz_target;
use lifetrace_cmt::{Kind, Type, TypeId, Unit};

fuzz_target!(|bytes: &[u8]| {
    look(bytes);
    let Some((&version, values)) = bytes.split_first() else { return };
    let magic: &[u8] = if version % 2 == 0 { b"Caml1999T030" } else { b"Caml1999T035" };
    let length = (values.len() as u32).to_be_bytes();
    look(&[magic, &[0x84, 0x95, 0xa6, 0xbe], &length, &[0; 12], values].concat());
});

fn look(bytes: &[u8]) {
    let Ok(unit) = lifetrace_cmt::read(bytes) else { return };
    for declaration in &unit.declarations {
        assert!(declaration.name.starts_with(&unit.name));
        let fields = match &declaration.kind {
            Kind::Record(fields, _) => fields.iter().collect(),
            Kind::Variant(of, _) => of.iter().flat_map(|it| &it.fields).collect(),
            Kind::Abstract | Kind::Open => Vec::new(),
        };
        fields.iter().for_each(|field| check(&unit, field.r#type));
        declaration.parameters.iter().chain(&declaration.manifest).for_each(|&of| check(&unit, of));
    }
    unit.tuples.iter().chain(&unit.modules).flatten().for_each(|&of| check(&unit, of));
}

fn check(unit: &Unit, TypeId(of): TypeId) {
    match &unit.types[of as usize] {
        Type::Tuple(parts) | Type::Named(_, parts) => {
            parts.iter().for_each(|part| assert!((part.0 as usize) < unit.types.len()));
        }
        _ => (),
    }
}
