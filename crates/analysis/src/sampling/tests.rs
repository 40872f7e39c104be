use std::sync::Arc;

use lifetrace_trace::ids::{AllocationId, Bytes, DomainId, Timestamp, Words};

use super::*;

fn info(sample_rate: f64, word_bits: u8) -> TraceInfo {
    TraceInfo {
        sample_rate,
        word_bits,
        executable_name: String::new(),
        host_name: String::new(),
        runtime_params: String::new(),
        pid: 1,
        start_time: Timestamp(0),
        initial_domain: DomainId(0),
        context: None,
    }
}

fn sampling(rate: f64) -> Sampling {
    Sampling::new(&info(rate, 64)).unwrap()
}

fn birth(source: Source, size: Size) -> Birth {
    Birth {
        id: AllocationId(0),
        size,
        samples: 1,
        source,
        sampler: SamplerId(0),
        is_truncated: false,
        is_growth: false,
        common_prefix: 0,
    }
}

fn words(source: Source, length: u64) -> Birth {
    birth(source, Size::Words(Words(length)))
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= b * 1e-9 + 1e-9
}

fn check(rate: f64, birth: &Birth, bytes: f64, objects: f64) {
    let sampling = sampling(rate);
    let amount = sampling.weigh(birth).tally(sampling.bytes(birth)).amount();
    assert!(close(amount.bytes.value, bytes), "{} bytes", amount.bytes.value);
    assert!(close(amount.objects.value, objects), "{} objects", amount.objects.value);
}

#[test]
fn a_block_stands_for_those_that_were_missed() {
    let block = |length| words(Source::External, length);
    check(0.5, &block(1), 16.0, 2.0);
    check(0.5, &block(2), 16.0 / 0.75, 1.0 / 0.75);
    check(1e-9, &block(1), 8e9, 1e9);
    check(1e-3, &block(10_000_000), 8e7, 1.0);
}

#[test]
fn a_header_counts_and_an_empty_block_can_be_hit() {
    check(0.5, &words(Source::Minor, 1), 16.0 / 0.75, 1.0 / 0.75);
    check(0.5, &words(Source::Major, 0), 16.0, 2.0);
    check(0.5, &words(Source::External, 0), 0.0, 2.0);
}

#[test]
fn words_are_hit_and_bytes_are_counted() {
    check(0.5, &birth(Source::External, Size::Bytes(Bytes(9))), 9.0 / 0.75, 1.0 / 0.75);
    check(0.5, &birth(Source::External, Size::Bytes(Bytes(0))), 0.0, 2.0);
}

#[test]
fn each_sampler_has_its_own_unit_and_rate_from_when_it_is_told() {
    let mut sampling = sampling(0.5);
    let block = birth(Source::External, Size::Bytes(Bytes(2)));
    let other = Birth { sampler: SamplerId(3), ..block };
    let mut check = |id, unit, rate, expected: [f64; 2]| {
        sampling.set(&Sampler { id: SamplerId(id), name: "".into(), unit, rate }).unwrap();
        let weights = [&block, &other].map(|birth| sampling.weigh(birth).value());
        assert!(weights.iter().zip(expected).all(|(&a, b)| close(a, b)), "{weights:?}");
    };
    check(2, SampledUnit::Word, 1.0, [2.0, 2.0]);
    check(3, SampledUnit::Byte, 0.5, [2.0, 1.0 / 0.75]);
    check(3, SampledUnit::Object, 0.25, [2.0, 4.0]);
    check(0, SampledUnit::Byte, 1.0, [1.0, 4.0]);
    assert!(!sampling.is_exact());
    assert_eq!(sampling.interval_bytes(), 16.0);
}

/// As `record --sources all` samples: bytes of malloc in words, words of OCaml's heaps with their
/// headers, and of what these hold outside without.
#[test]
fn malloc_and_ocaml_add_up() {
    let (malloc, ocaml) = (0.01, 0.125);
    let mut sampling = sampling(malloc);
    let (unit, name) = (SampledUnit::Word, "ocaml".into());
    sampling.set(&Sampler { id: SamplerId(1), name, unit, rate: ocaml }).unwrap();
    let bytes = Size::Bytes(Bytes(20));
    let of_ocaml = |source| Birth { sampler: SamplerId(1), ..words(source, 3) };
    let blocks = [
        (birth(Source::External, bytes), malloc, 3, 20.0),
        (of_ocaml(Source::Minor), ocaml, 4, 32.0),
        (of_ocaml(Source::Major), ocaml, 4, 32.0),
        (of_ocaml(Source::External), ocaml, 3, 24.0),
    ];
    for (birth, rate, units, held) in blocks {
        let is_hit = 1.0 - (1.0_f64 - rate).powi(units);
        let amount = sampling.weigh(&birth).tally(sampling.bytes(&birth)).amount();
        assert!(close(is_hit * amount.objects.value, 1.0), "{birth:?}");
        assert!(close(is_hit * amount.bytes.value, held), "{birth:?}");
    }
    assert_eq!(sampling.interval_bytes(), 800.0);
}

/// As a runtime is sampled whose blocks have sizes in bytes.
#[test]
fn a_heap_may_be_sampled_by_objects_or_by_bytes() {
    let block = |source, bytes| birth(source, Size::Bytes(Bytes(bytes)));
    let mut sampling = sampling(0.25);
    let name = Arc::from("ruby");
    let sampler = |unit| Sampler { id: SamplerId(0), name: Arc::clone(&name), unit, rate: 0.25 };
    sampling.set(&sampler(SampledUnit::Object)).unwrap();
    for (source, bytes) in [(Source::Minor, 40), (Source::Major, 640)] {
        let block = block(source, bytes);
        let amount = sampling.weigh(&block).tally(sampling.bytes(&block)).amount();
        assert!(close(amount.objects.value, 4.0));
        assert!(close(amount.bytes.value, 4.0 * bytes as f64));
    }
    let figures = (sampling.unit(), sampling.interval_bytes(), sampling.interval_objects());
    assert_eq!(figures, (SampledUnit::Object, 0.0, 4.0));
    let nothing = crate::Amount::default().bytes_interval(&sampling);
    assert_eq!((nothing.low, nothing.high), (0.0, f64::INFINITY));
    // No header is hit beside.
    sampling.set(&sampler(SampledUnit::Word)).unwrap();
    let weight = sampling.weigh(&block(Source::Minor, 16)).value();
    assert!(close(weight, 1.0 / (1.0 - 0.75_f64.powi(2))), "{weight}");
    assert_eq!(sampling.interval_bytes(), 32.0);
}

#[test]
fn impossible_samplings_are_refused() {
    for rate in [0.0, -1.0, 1.5, f64::NAN, f64::INFINITY] {
        let refused = Sampling::new(&info(rate, 64));
        assert!(matches!(refused, Err(InvalidSampling::Rate(_))), "{rate}");
        let (mut sampling, unit) = (sampling(0.5), SampledUnit::Byte);
        let sampler = Sampler { id: SamplerId(0), name: "".into(), unit, rate };
        assert!(sampling.set(&sampler).is_err());
        assert_eq!(sampling.rate(), 0.5);
    }
    assert_eq!(Sampling::new(&info(0.1, 63)), Err(InvalidSampling::WordBits(63)));
    assert!(sampling(1.0).is_exact());
}

#[test]
fn enormous_blocks_and_tiny_rates_do_not_panic() {
    for source in [Source::Minor, Source::External] {
        for rate in [f64::MIN_POSITIVE, 1e-12, 1.0] {
            let (sampling, birth) = (sampling(rate), words(source, u64::MAX));
            let amount = sampling.weigh(&birth).tally(sampling.bytes(&birth)).amount();
            assert!(amount.bytes.value.is_finite() && amount.bytes.variance.is_finite());
        }
    }
}

#[test]
fn a_large_block_says_nothing_of_small_ones() {
    // 1024 bytes from hit to hit.
    let sampling = sampling(1.0 / 128.0);
    let large = words(Source::External, 1 << 20);
    let amount = sampling.weigh(&large).tally(sampling.bytes(&large)).amount();
    let (bytes, objects) = (amount.bytes_interval(&sampling), amount.heard_objects(&sampling));
    let unseen = 2.9957 * 1024.0;
    assert!(
        close(bytes.low, amount.bytes.value) && (bytes.high - bytes.low - unseen).abs() < 1.0,
        "{bytes:?}"
    );
    assert!(
        close(objects.low, 1.0) && (objects.high - 1.0 - unseen / 16.0).abs() < 1.0,
        "{objects:?}"
    );
    // Of blocks that are chosen nobody knows whether those that were missed would have been.
    let mut some = sampling.clone();
    some.choose_some();
    assert_eq!(amount.heard_objects(&some), amount.objects.interval());
    assert_eq!(amount.heard_bytes(&Sampling::coarser(&sampling, &some)), amount.bytes.interval());
    // Of small blocks that were hit nothing more is known: the interval has as much room.
    let small = words(Source::External, 2);
    let amount = sampling.weigh(&small).tally(sampling.bytes(&small)).amount();
    assert_eq!(amount.bytes_interval(&sampling), amount.bytes.interval());
}

#[test]
fn what_is_not_heard_has_no_upper_end() {
    let mut sampling = sampling(1.0);
    sampling.learn("no-ocaml");
    assert!(sampling.is_exact() && sampling.hears_all());
    sampling.learn("own-allocator");
    assert!(!sampling.is_exact() && !sampling.hears_all());
    let nothing = crate::Amount::default().bytes_interval(&sampling);
    assert_eq!((nothing.low, nothing.high), (0.0, f64::INFINITY));
    let other = Sampling::new(&info(0.5, 64)).unwrap();
    assert!(!Sampling::coarser(&other, &sampling).hears_all());
}

#[test]
fn the_interval_is_in_bytes() {
    assert_eq!(sampling(1.0 / 65536.0).interval_bytes(), 524_288.0);
    assert_eq!(Sampling::new(&info(0.5, 32)).unwrap().interval_bytes(), 8.0);
}
