//! What is written is read.

use lifetrace_trace::lth::{
    Address, BlockNumber, Field, Form, Frame, Header, Kind, KindId, Outcome, Root, Sample, Site,
    SiteId,
};
use proptest::prelude::*;

use crate::support::{Owned, Told, read, text, written};

fn field() -> impl Strategy<Value = Field> {
    prop_oneof![
        Just(Field::Value),
        Just(Field::Next),
        Just(Field::Outside),
        any::<u16>().prop_map(|at| Field::To(Address(u64::from(at) * 8))),
        any::<u64>().prop_map(|at| Field::To(Address(at & !7))),
    ]
}

fn root() -> impl Strategy<Value = Told> {
    let category = prop_oneof![Just("globals"), Just("stack")];
    let name = proptest::option::of(".{0,6}");
    (category, name, any::<u64>(), field()).prop_map(|(category, name, slot, to)| {
        let name = name.map(|name| text(&name));
        let root = Root { category: text(category), name, slot: Address(slot), to };
        Told::Root(root, BlockNumber(0))
    })
}

fn block() -> impl Strategy<Value = Told> {
    let detail = proptest::option::weighted(0.2, ".{0,6}");
    let fields = prop_oneof![
        9 => prop::collection::vec(field(), 0..6),
        1 => prop::collection::vec(field(), 4000..9000),
    ];
    let outside = prop_oneof![9 => Just(0), 1 => any::<u64>()];
    let parts = (any::<u64>(), 1..6u64, outside, 0..4u32, fields, detail);
    parts.prop_map(|(address, words, outside, kind, fields, detail)| {
        let (address, kind) = (Address(address & !7), KindId(kind));
        let bytes = words * 8;
        let owned = Owned { address, bytes, outside, kind, fields, detail };
        Told::Block(BlockNumber(0), BlockNumber(0), owned)
    })
}

fn other() -> impl Strategy<Value = Told> {
    let kind = (".{0,9}", 0..3usize).prop_map(|(name, form)| {
        let form = [Form::Fields, Form::String, Form::Closure][form];
        Told::Kind(KindId(0), Kind { name: text(&name), form })
    });
    let frame = ("[a-c]{0,2}", "[a-c]{0,1}", 0..9u32);
    let frames = prop::collection::vec(frame, 0..5).prop_map(|frames| {
        let frame = |(function, file, line): (String, String, u32)| Frame {
            function: text(&function),
            file: text(&file),
            line,
        };
        Told::Site(SiteId(0), Site { frames: frames.into_iter().map(frame).collect() })
    });
    let sample = (any::<u64>(), any::<u64>(), any::<u32>(), 1.0..1e9, any::<u64>()).prop_map(
        |(id, address, site, weight, born)| {
            let (address, site) = (Address(address), SiteId(site));
            Told::Sample(Sample { id, address, site, weight, born })
        },
    );
    prop_oneof![kind, frames, sample]
}

/// As a reader numbers and cuts them: by sort, each in the order of its own.
fn expected(records: &[Told]) -> [Vec<Told>; 4] {
    let mut sorts = [const { Vec::new() }; 4];
    let (mut next, mut number) = (BlockNumber(0), 0);
    let pass = |next: &mut BlockNumber, fields: &[Field]| {
        let first = *next;
        next.0 += fields.iter().filter(|&&field| field == Field::Next).count() as u64;
        first
    };
    for record in records {
        match record.clone() {
            Told::Kind(_, kind) => {
                let is_known = |it: &Told| matches!(it, Told::Kind(_, known) if *known == kind);
                let id = KindId(sorts[0].len() as u32);
                if !sorts[0].iter().any(is_known) {
                    sorts[0].push(Told::Kind(id, kind));
                }
            }
            Told::Root(root, _) => {
                let first = pass(&mut next, &[root.to]);
                sorts[1].push(Told::Root(root, first));
            }
            Told::Block(_, _, owned) => {
                let mut parts = owned.fields.chunks(4096);
                let fields = parts.next().unwrap_or_default().to_vec();
                let at = BlockNumber(number);
                number += 1;
                let first = pass(&mut next, &fields);
                sorts[1].push(Told::Block(at, first, Owned { fields, ..owned.clone() }));
                for fields in parts {
                    let first = pass(&mut next, fields);
                    sorts[1].push(Told::Fields(at, first, fields.to_vec()));
                }
            }
            Told::Fields(..) => {}
            Told::Site(_, site) => {
                let id = SiteId(sorts[2].len() as u32);
                sorts[2].push(Told::Site(id, site));
            }
            sample @ Told::Sample(_) => sorts[3].push(sample),
        }
    }
    sorts
}

fn sorted(records: Vec<Told>) -> [Vec<Told>; 4] {
    let mut sorts = [const { Vec::new() }; 4];
    for record in records {
        let sort = match record {
            Told::Kind(..) => 0,
            Told::Root(..) | Told::Block(..) | Told::Fields(..) => 1,
            Told::Site(..) => 2,
            Told::Sample(_) => 3,
        };
        sorts[sort].push(record);
    }
    sorts
}

proptest! {
    #[test]
    fn records_are_read_as_they_were_written(
        records in prop::collection::vec(prop_oneof![1 => root(), 6 => block(), 1 => other()], 0..60)
    ) {
        let header = Header { program: text("p"), trace: Some(text("t.lt")), ..Header::default() };
        let (read, is_complete) = read(&written(&header, &records, &Outcome::default())).unwrap();
        prop_assert_eq!(sorted(read), expected(&records));
        prop_assert!(is_complete);
    }
}
