//! Writes seeds for all targets, from the repository's root:
//! `cargo run --manifest-path fuzz/Cargo.toml --example seeds`
//!
//! Small ones, since those mutate quickly: a synthetic trace with every kind of event for each version
//! of the format, and the first bytes of each trace in `fixtures/traces` and each file in
//! `fixtures/imports`. Of filters: those of the documentation, and those that the tests take for
//! mistakes.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use flate2::read::DeflateDecoder;
use lifetrace_trace::event::{Location, Source, TraceInfo};
use lifetrace_trace::ids::{AllocationId, DomainId, LocationCode, Timestamp, Words};
use lifetrace_trace::lt::Listing;
use lifetrace_trace::memtrace::{NewAllocation, Version, Writer};

const HEAD: usize = 6000;

fn main() -> io::Result<()> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    for target in ["memtrace_read", "memtrace_roundtrip"] {
        let corpus = here.join("corpus").join(target);
        std::fs::create_dir_all(&corpus)?;
        for version in [Version::V1, Version::V2, Version::V3] {
            std::fs::write(corpus.join(format!("synthetic-v{version}")), synthetic(version)?)?;
        }
        for entry in std::fs::read_dir(here.join("../fixtures/traces"))? {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "ctf") {
                let trace = std::fs::read(&path)?;
                let head = &trace[..trace.len().min(HEAD)];
                std::fs::write(corpus.join(path.file_stem().unwrap()), head)?;
            }
        }
    }
    seed_import(here)?;
    seed_heap_dump(here)?;
    seed_heap_snapshot(here)?;
    seed_cmt(here)?;
    seed_request(here)?;
    for path in traces_of_our_own(here)? {
        let trace = std::fs::read(&path)?;
        let name = path.file_stem().unwrap_or_default();
        for (target, seed) in [
            ("lt_read", trace[..trace.len().min(HEAD)].to_vec()),
            ("lt_roundtrip", trace[..trace.len().min(HEAD)].to_vec()),
            ("lt_columns", payloads(&trace)),
        ] {
            let corpus = here.join("corpus").join(target);
            std::fs::create_dir_all(&corpus)?;
            std::fs::write(corpus.join(name), seed)?;
        }
    }
    filters(here)
}

/// One for each route, and what browsers say.
fn seed_request(here: &Path) -> io::Result<()> {
    let corpus = here.join("corpus/request");
    std::fs::create_dir_all(&corpus)?;
    let headers = "Host: localhost:1\r\nAuthorization: Bearer x\r\nOrigin: http://localhost:1\r\nSec-Fetch-Site: none\r\n";
    for (number, target) in [
        "GET /",
        "GET /metrics",
        "GET /processes?ended=1&token=x",
        "GET /processes/7/pprof/heap?seconds=5&gc=1&debug=0",
        "HEAD /processes/7/trace?minutes=5",
        "GET /processes/7/report?view=hot&filter=size+%3E+1KiB&focus=a;b&hide=fn:x&top=3&metric=live",
        "POST /processes/7/snapshot?file=1",
    ]
    .into_iter()
    .enumerate()
    {
        let text = format!("{target} HTTP/1.1\r\n{headers}\r\n");
        std::fs::write(corpus.join(number.to_string()), text)?;
    }
    Ok(())
}

/// Each with the byte that says what it is: a filter, a frame or a path.
fn filters(here: &Path) -> io::Result<()> {
    let corpus = here.join("corpus/filter");
    std::fs::create_dir_all(&corpus)?;
    let tests = here.join("../crates/analysis/src/filter/tests");
    let sources = [
        (0, here.join("../docs/filters.md"), "| `"),
        (0, tests.join("mistakes_filters.txt"), "> "),
        (1, tests.join("mistakes_steps.txt"), "> "),
        (2, tests.join("mistakes_paths.txt"), "> "),
    ];
    for (kind, path, mark) in sources {
        let text = std::fs::read_to_string(path)?;
        let seeds = text.lines().filter_map(|line| line.strip_prefix(mark));
        let seeds = seeds.map(|seed| seed.split('`').next().unwrap_or(seed));
        for (number, seed) in seeds.enumerate() {
            let bytes = [&[kind], seed.as_bytes()].concat();
            std::fs::write(corpus.join(format!("{kind}-{number}")), bytes)?;
        }
    }
    Ok(())
}

/// Dumps as they are.
fn seed_heap_dump(here: &Path) -> io::Result<()> {
    let corpus = here.join("corpus/heap_dump");
    std::fs::create_dir_all(&corpus)?;
    for entry in std::fs::read_dir(here.join("../fixtures/heaps"))? {
        let entry = entry?;
        if entry.path().extension().is_some_and(|extension| extension == "json") {
            std::fs::copy(entry.path(), corpus.join(entry.file_name()))?;
        }
    }
    Ok(())
}

/// Snapshots as they are, and the contents of their packets, each after a byte for its kind.
fn seed_heap_snapshot(here: &Path) -> io::Result<()> {
    let corpus = here.join("corpus/heap_snapshot");
    std::fs::create_dir_all(&corpus)?;
    for entry in std::fs::read_dir(here.join("../fixtures/heaps"))? {
        let path = entry?.path();
        if path.extension().is_none_or(|extension| extension != "lth") {
            continue;
        }
        let snapshot = std::fs::read(&path)?;
        let name = path.file_stem().unwrap_or_default();
        std::fs::write(corpus.join(name), &snapshot)?;
        let mut rest = &snapshot[..];
        while let [_, _, _, _, kind, low, middle, high, ..] = *rest {
            let length = u32::from_le_bytes([low, middle, high, 0]) as usize;
            let packet = &rest[12..12 + length];
            let begin = 1 + packet.iter().take_while(|&&byte| byte >= 0x80).count();
            let mut contents = vec![kind.saturating_sub(2)];
            let inflated = DeflateDecoder::new(&packet[begin.min(length)..]).read_to_end(&mut contents);
            if inflated.is_ok() && contents.len() <= HEAD {
                let number = snapshot.len() - rest.len();
                let name = format!("{}-{number}", name.to_string_lossy());
                std::fs::write(corpus.join(name), contents)?;
            }
            rest = &rest[12 + length..];
        }
    }
    Ok(())
}

/// Files of OCaml's compiler's, and their values alone, after a byte for their version.
fn seed_cmt(here: &Path) -> io::Result<()> {
    const BEFORE_VALUES: usize = 32;
    let corpus = here.join("corpus/cmt");
    std::fs::create_dir_all(&corpus)?;
    for entry in std::fs::read_dir(here.join("../fixtures/cmt"))? {
        let path = entry?.path();
        if path.extension().is_none_or(|extension| extension != "cmt") {
            continue;
        }
        let file = std::fs::read(&path)?;
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        std::fs::write(corpus.join(&name), &file)?;
        let begin = file.windows(4).position(|it| it == b"T030").unwrap_or_default();
        if begin > 0 && file.len() < HEAD {
            let values = &file[begin + 4 + BEFORE_VALUES - 12..];
            std::fs::write(corpus.join(format!("{name}-values")), [&[0], values].concat())?;
        }
    }
    Ok(())
}

/// Small files as they are, and the beginnings of all of them unpacked.
fn seed_import(here: &Path) -> io::Result<()> {
    let corpus = here.join("corpus/import");
    std::fs::create_dir_all(&corpus)?;
    for entry in std::fs::read_dir(here.join("../fixtures/imports"))? {
        let path = entry?.path();
        let packed = std::fs::read(&path)?;
        let name = path.file_stem().unwrap_or_default();
        if packed.len() <= HEAD {
            std::fs::write(corpus.join(name).with_extension("packed"), &packed)?;
        }
        let mut head = Vec::new();
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("gz") => flate2::read::GzDecoder::new(&packed[..])
                .take(HEAD as u64)
                .read_to_end(&mut head)?,
            Some("zst") => {
                let decoder = ruzstd::decoding::StreamingDecoder::new(&packed[..]);
                decoder.map_err(io::Error::other)?.take(HEAD as u64).read_to_end(&mut head)?
            }
            _ => continue,
        };
        std::fs::write(corpus.join(name), head)?;
    }
    Ok(())
}

fn traces_of_our_own(here: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(here.join("../fixtures/traces"))?;
    let paths = entries.map(|entry| entry.map(|entry| entry.path()));
    let mut paths = paths.collect::<io::Result<Vec<_>>>()?;
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "lt"));
    Ok(paths)
}

/// The first packets' payloads, as `lt_columns` takes them.
fn payloads(trace: &[u8]) -> Vec<u8> {
    let mut seed = Vec::new();
    for packet in Listing::new(trace).map_while(Result::ok) {
        let whole = &trace[packet.offset as usize..][..packet.len as usize];
        let (kind, payload) = (whole[4], &whole[12..]);
        if kind != 1 && seed.len() + payload.len() < 2 * HEAD {
            seed.push(kind);
            seed.extend((payload.len() as u16).to_le_bytes());
            seed.extend(payload);
        }
    }
    seed
}

fn synthetic(version: Version) -> io::Result<Vec<u8>> {
    let mut writer = Writer::new(Vec::new(), &info(), version)?;
    let mut ids = Vec::new();
    for step in 0..40_u64 {
        let now = Timestamp(1_000_000 + step * 1_700_000);
        writer.switch_domain(DomainId((step / 15) as u16));
        ids.push(allocate(&mut writer, now, step)?);
        if step % 3 == 0 {
            writer.promotion(now, ids[step as usize])?;
        }
        if step % 4 == 3 {
            writer.collection(now, ids[step as usize / 2])?;
        }
        if step % 10 == 9 {
            writer.flush(now)?;
        }
    }
    writer.finish()
}

fn allocate(writer: &mut Writer<Vec<u8>>, now: Timestamp, step: u64) -> io::Result<AllocationId> {
    let backtrace: Vec<_> =
        (0..step % 12).map(|depth| LocationCode(7 + (depth ^ step % 4))).collect();
    let allocation = NewAllocation {
        length: Words(if step % 9 == 8 { 0x8123_4567 } else { step }),
        samples: 1 + step / 20,
        source: [Source::Minor, Source::Minor, Source::Major, Source::External][step as usize % 4],
        backtrace: &backtrace,
        common_prefix: 0,
        id: None,
    };
    writer.allocation(now, &allocation, &mut |code| locate(code.0))
}

fn locate(code: u64) -> Vec<Location> {
    let location = |inlined: u64| Location {
        filename: format!("f{}.c", code % 3).into(),
        line: (code * 100) as u32,
        start_char: 3,
        end_char: 9,
        defname: format!("g{inlined}").into(),
    };
    (0..code % 3).map(location).collect()
}

fn info() -> TraceInfo {
    TraceInfo {
        sample_rate: 1e-4,
        word_bits: 64,
        executable_name: "a".into(),
        host_name: "b".into(),
        runtime_params: String::new(),
        pid: 1,
        start_time: Timestamp(1_000_000),
        initial_domain: DomainId(0),
        context: Some("c".into()),
    }
}
