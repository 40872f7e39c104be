//! A snapshot that has some of everything.

use lifetrace_trace::lth::{
    Address, Block, Field, Form, Frame, Header, Kind, Outcome, Root, Sample, Site, Writer,
};

use crate::support::text;

fn header() -> Header {
    Header {
        program: text("cache"),
        pid: 4711,
        number: 2,
        time: 1_790_000_000_000_000_000,
        runtime: text("OCaml 4.13.1"),
        cause: text("signal"),
        word_bytes: 8,
        labels: vec![(text("run"), text("nightly"))],
        trace: Some(text("lifetrace.cache.4711.lt")),
    }
}

fn outcome() -> Outcome {
    Outcome {
        pause_ns: 1_300_000,
        cpu_ns: 112_000_000,
        private_bytes: 8_000_000,
        copied_bytes: 57_000_000,
        gave_up: None,
        figures: vec![(text("heap bytes"), 1 << 26), (text("free bytes"), 1 << 20)],
    }
}

/// A table of lists of strings, and arrays.
pub fn snapshot() -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), &header()).unwrap();
    let mut kind = |name: &str, form| writer.kind(&Kind { name: text(name), form }).unwrap();
    let [block, string, closure, custom] = [
        ("tag 0", Form::Fields),
        ("string", Form::String),
        ("camlCache__hash_271", Form::Closure),
        ("_bigarr02", Form::Custom),
    ]
    .map(|(name, form)| kind(name, form));
    let root = |category: &str, name: Option<&str>, slot, to| Root {
        category: text(category),
        name: name.map(text),
        slot: Address(slot),
        to,
    };
    let table = 0x7f00_0000_1000;
    for root in [
        root("globals", Some("camlCache slot 4"), 0x5555_0000_0020, Field::Next),
        root("globals", Some("camlCache slot 5"), 0x5555_0000_0028, Field::To(Address(table))),
        root("stack", Some("camlCache__main_300"), 0x7ffc_0000_0100, Field::Next),
        root("global roots", None, 0, Field::Outside),
    ] {
        writer.root(&root).unwrap();
    }
    let mut at = table;
    let mut put = |words: u64, kind, fields: &[Field], detail: Option<&str>, outside| {
        let (address, bytes) = (Address(at), words * 8);
        at += bytes + 8;
        writer.block(&Block { address, bytes, outside, kind, fields, detail }).unwrap();
        address
    };
    let mut strings = Vec::new();
    let lists = 100;
    put(4, block, &[Field::Value, Field::Next, Field::Value], None, 0);
    put(4, closure, &[Field::Outside, Field::Value, Field::To(Address(table))], None, 0);
    put(lists + 1, block, &vec![Field::Next; lists as usize], None, 0);
    for _ in 0..lists {
        put(3, block, &[Field::Next, Field::Next], None, 0);
    }
    for number in 0..lists {
        let detail = Some("\"GET /\"").filter(|_| number % 10 == 0);
        strings.push(put(3, string, &[], detail, 0));
        let tail = if number % 2 == 0 { Field::Value } else { Field::To(Address(table)) };
        put(3, block, &[Field::Outside, tail], None, 0);
    }
    // So many that the packet is full.
    put(263_001, block, &vec![Field::Value; 263_000], None, 0);
    put(5, custom, &[], None, 1 << 20);
    put(5001, block, &[Field::To(Address(table)); 5000], Some("an array"), 0);
    for number in 0..30u32 {
        let frame = |name: &str, line| Frame { function: text(name), file: text("cache.ml"), line };
        let frames = vec![frame("Cache.add", 12 + number), frame("Cache.main", 40)];
        let site = writer.site(&Site { frames }).unwrap();
        let (id, born) = (u64::from(number) * 17, 1_789_999_990_000_000_000 + u64::from(number));
        let address = strings[number as usize % 40];
        writer.sample(&Sample { id, address, site, weight: 10.0 / 3.0, born }).unwrap();
    }
    writer.finish(&outcome()).unwrap()
}
