//! What a child that walks a heap says: any bytes are read or refused, and what is read is said so again.

#![no_main]

use libfuzzer_sys::fuzz_target;
use lifetrace_transport::stream::{Decoder, Encoder, Item};

fuzz_target!(|bytes: &[u8]| {
    let mut room = vec![0; 4 * bytes.len() + 4096];
    let mut encoder = Encoder::new(&mut room);
    let mut decoder = Decoder::default().next_packet(bytes);
    let mut said = Vec::new();
    'packet: while let Ok(Some(item)) = decoder.item() {
        // A longer name is cut.
        let is_long = match item {
            Item::Kind { name, .. } | Item::Category(name) => name.len() > 1024,
            _ => false,
        };
        if is_long {
            break;
        }
        let mut fields = Vec::new();
        while let Item::Block(_) = item {
            match decoder.field() {
                Ok(Some(field)) => fields.push(field),
                Ok(None) => break,
                Err(_) => break 'packet,
            }
        }
        encoder.put(&item);
        if let Item::Block(_) = item {
            fields.iter().for_each(|field| encoder.field(*field));
            encoder.end_of_fields();
        }
        said.push((format!("{item:?}"), fields));
    }
    let packet = encoder.take().to_vec();
    let mut again = Decoder::default().next_packet(&packet);
    for (item, fields) in said {
        let found = again.item().unwrap().unwrap();
        assert_eq!(format!("{found:?}"), item);
        for field in fields {
            assert_eq!(again.field().unwrap(), Some(field));
        }
        if let Item::Block(_) = found {
            assert_eq!(again.field().unwrap(), None);
        }
    }
    assert!(again.item().unwrap().is_none());
});
