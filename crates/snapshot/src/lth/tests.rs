//! Small snapshots, whole and damaged.

use lifetrace_trace::lth::{
    Address, Block, Field, Form, Header, Kind, Outcome, Root, Sample, SiteId, Writer,
};

use super::{Snapshot, read};
use crate::dominators::Dominators;
use crate::graph::BlockId;

/// A root with a list of three cells, the last of which refers to the first, and one string that is held twice.
fn snapshot(many: usize) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), &Header::default()).unwrap();
    let [cell, string] = [("tag 0", Form::Fields), ("string", Form::String)]
        .map(|(name, form)| writer.kind(&Kind { name: name.into(), form }).unwrap());
    for (category, name, to) in [
        ("globals", Some("slot 1"), Field::Next),
        ("stack", None, Field::To(Address(0x100))),
        ("globals", Some("slot 2"), Field::To(Address(0x999_000))),
        ("globals", Some("slot 3"), Field::To(Address(0x200))),
    ] {
        let name = name.map(Into::into);
        writer.root(&Root { category: category.into(), name, slot: Address(8), to }).unwrap();
    }
    let mut put = |address, kind, fields: &[Field]| {
        let bytes = 8 + 8 * fields.len() as u64;
        let address = Address(address);
        writer
            .block(&Block { address, bytes, outside: 0, kind, fields, detail: Some("it") })
            .unwrap();
    };
    put(0x100, cell, &[Field::Next, Field::Next]);
    put(0x200, string, &[]);
    put(0x300, cell, &[Field::To(Address(0x200)), Field::Next]);
    let mut fields = vec![Field::Value; many];
    fields.push(Field::To(Address(0x100)));
    put(0x400, cell, &fields);
    let sample = |address| Sample {
        id: 1,
        address: Address(address),
        site: SiteId(0),
        weight: 2.0,
        born: 0,
    };
    writer.sample(&sample(0x300)).unwrap();
    writer.sample(&sample(0x301)).unwrap();
    writer.finish(&Outcome::default()).unwrap()
}

#[test]
fn a_snapshot_is_a_heap() {
    for many in [1, 10_000] {
        let Snapshot { heap, missing, damages, samples, .. } = read(&snapshot(many)[..]).unwrap();
        assert_eq!((missing, damages.len()), (1, 0));
        assert!(heap.roots.iter().map(|it| &**it).eq(["globals", "stack"]));
        let at = |address| heap.at(address).unwrap();
        let to = |address| -> Vec<_> {
            heap.graph.references(at(address)).filter_map(|id| heap.address(id)).collect()
        };
        assert_eq!(to(0x100), [0x200, 0x300]);
        assert_eq!((to(0x200), to(0x300), to(0x400)), (vec![], vec![0x200, 0x400], vec![0x100]));
        assert_eq!((heap.name(at(0x200)), heap.name(at(0x300))), ("string", "tag 0"));
        let shape = heap.shape(at(0x400)).unwrap();
        assert_eq!((shape.fields as usize, shape.bytes as usize), (many + 1, 16 + 8 * many));
        let slot = heap.slot(BlockId(1), at(0x200)).unwrap();
        assert_eq!(slot.name.as_deref(), Some("slot 3"));
        assert_eq!(heap.slot(BlockId(2), at(0x200)), None);
        assert_eq!(samples.iter().map(|it| it.1).collect::<Vec<_>>(), [Some(at(0x300)), None]);
        assert_eq!(Dominators::of(&heap.graph).reachable(), 1 + 2 + 4);
        assert_eq!(heap.place_in_file(at(0x300)).unwrap().number, 2);
    }
}

#[test]
fn what_is_left_of_a_cut_snapshot_is_a_heap() {
    let bytes = snapshot(600_000);
    for len in 0..bytes.len() {
        if let Ok(snapshot) = read(&bytes[..len]) {
            let heap = &snapshot.heap;
            assert_eq!(Dominators::of(&heap.graph).reachable() > 3, heap.addresses().len() > 1);
        }
    }
}

#[test]
fn values_at_the_end_are_fields_as_well() {
    let mut writer = Writer::new(Vec::new(), &Header::default()).unwrap();
    let [array, string] = [("tag 0", Form::Fields), ("string", Form::String)]
        .map(|(name, form)| writer.kind(&Kind { name: name.into(), form }).unwrap());
    for (address, kind, fields) in
        [(0x1000, array, &[Field::Value, Field::To(Address(0x9000))][..]), (0x9000, string, &[])]
    {
        let (address, bytes) = (Address(address), 8 + 8 * 128);
        let detail = None;
        writer.block(&Block { address, bytes, outside: 0, kind, fields, detail }).unwrap();
    }
    let file = writer.finish(&Outcome::default()).unwrap();
    let Snapshot { heap, .. } = read(&file[..]).unwrap();
    let shape = |address| *heap.shape(heap.at(address).unwrap()).unwrap();
    assert_eq!((shape(0x1000).fields, heap.length(&shape(0x1000))), (2, 128));
    assert_eq!((shape(0x9000).fields, heap.length(&shape(0x9000))), (0, 0));
}
