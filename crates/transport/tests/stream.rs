//! What a walk says comes back, and other bytes are refused.

use lifetrace_transport::stream::{
    Decoder, Encoder, Ending, Field, Form, FramePlace, Head, Item, Summary,
};
use proptest::prelude::*;

/// An item that owns its name, and a block's fields.
type Owned = (u8, [u64; 4], Vec<u8>, Vec<Field>);

fn fields() -> impl Strategy<Value = Vec<Field>> {
    let field = prop_oneof![
        Just(Field::Next),
        (1..1u64 << 40).prop_map(Field::Values),
        Just(Field::Outside),
        (0..1u64 << 60).prop_map(|word| Field::To(word * 8)),
    ];
    prop::collection::vec(field, 0..8)
}

fn items() -> impl Strategy<Value = Vec<Owned>> {
    let name = prop::collection::vec(any::<u8>(), 0..20);
    prop::collection::vec((0..7u8, any::<[u64; 4]>(), name, fields()), 0..30)
}

fn item<'a>((which, [a, b, c, d], name, fields): &'a Owned) -> Item<'a> {
    let is_reference = |field: &&Field| matches!(field, Field::Next | Field::To(_));
    let to = fields.iter().find(is_reference).copied().unwrap_or(Field::Next);
    match which {
        0 => Item::Kind { form: Form::ALL[*a as usize % Form::ALL.len()], word: *b, name },
        1 => Item::Root { category: *a, frame: c.checked_sub(1), slot: *b, to },
        2 => Item::Sample { id: *a, address: *b },
        3 => Item::End(Summary {
            ending: if a.is_multiple_of(2) { Ending::Whole } else { Ending::Memory },
            blocks: *b,
            bytes: *c,
            cpu_nanos: *d,
            memory: *a,
        }),
        4 => Item::Category(name),
        6 => Item::Frame(FramePlace { code: *a, line: *b, function: name, file: b"server.ml" }),
        _ => Item::Block(Head { kind: a >> 8, address: b << 3, bytes: *c, outside: *d }),
    }
}

proptest! {
    #[test]
    fn items_come_back(owned in items(), every in 1..6usize) {
        let mut bytes = vec![0; 1 << 16];
        let mut encoder = Encoder::new(&mut bytes);
        let mut packets = Vec::new();
        for (number, owned) in owned.iter().enumerate() {
            encoder.put(&item(owned));
            if owned.0 == 5 {
                owned.3.iter().for_each(|field| encoder.field(*field));
                encoder.end_of_fields();
            }
            if number % every == 0 {
                packets.push(encoder.take().to_vec());
            }
        }
        packets.push(encoder.take().to_vec());
        let mut decoder = Decoder::default();
        let mut expected = owned.iter();
        for packet in &packets {
            decoder = decoder.next_packet(packet);
            while let Some(found) = decoder.item().unwrap() {
                let owned = expected.next().unwrap();
                prop_assert_eq!(found, item(owned));
                for field in owned.3.iter().filter(|_| owned.0 == 5) {
                    prop_assert_eq!(decoder.field().unwrap(), Some(*field));
                }
                if owned.0 == 5 {
                    prop_assert_eq!(decoder.field().unwrap(), None);
                }
            }
        }
        prop_assert!(expected.next().is_none());
    }

    #[test]
    fn whatever_comes_is_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let mut decoder = Decoder::default().next_packet(&bytes);
        while let Ok(Some(item)) = decoder.item() {
            while matches!(item, Item::Block(_)) && matches!(decoder.field(), Ok(Some(_))) {}
        }
    }
}
