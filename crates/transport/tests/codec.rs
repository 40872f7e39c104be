//! The codec against its laws, and against a naive twin that knows the layout by heart.

use lifetrace_transport::codec::{
    DecodeError, MAX_BUILD_ID, MAX_FRAMES, MAX_HEAD, MAX_LEN, MAX_PATH, decode, encode,
};
use lifetrace_transport::message::{
    AllocationKind, BacktraceDelta, Body, CollectorTotals, EncodedTotals, FrameKind, FrameName,
    Frames, MANAGED_FRAME, MemoryKind, Message, Module, MonotonicNanos, Place, Run, SampleId,
    SourceKind, Step, ThreadId, disguise,
};
use lifetrace_transport::ring::{ALLOCATION_HEAD, RELEASE_HEAD};
use lifetrace_transport::sources::SourceName;
use proptest::prelude::*;

/// A message that owns what it says.
#[derive(Clone, Debug)]
struct Owned {
    time: u64,
    thread: u32,
    kind: Kind,
}

#[derive(Clone, Debug)]
enum OwnedFrames {
    Words(Vec<u64>),
    Runs(Vec<u32>),
}

#[derive(Clone, Debug)]
enum Kind {
    Allocation {
        words: [u64; 3],
        source: SourceKind,
        kind: AllocationKind,
        shared: u32,
        frames: OwnedFrames,
        truncated: bool,
    },
    Placed(u64, u64, u64),
    Release(u64),
    Promotion(u64),
    Measured(u64, u64),
    ModuleLoaded {
        words: [u64; 3],
        build_id: Vec<u8>,
        path: Vec<u8>,
    },
    ModuleUnloaded(u64),
    ThreadStarted(u32),
    ThreadEnded,
    Notice(Vec<u8>),
    RuntimeCount(Vec<u8>, u64),
    Exiting,
    AllocatorTotals(u64, u64),
    Rate(u64),
    NamesPending(bool),
    Pages(Step, u64, u64, (u32, bool), Vec<u64>),
    Context(Vec<u64>),
    FrameName {
        frame: u64,
        kind: u8,
        places: [u32; 3],
        is_first: bool,
        is_last: bool,
        function: Vec<u8>,
        file: Vec<u8>,
    },
    FrameAddress(u64, u64),
    Runtime(u64, bool, Vec<u8>),
    CollectorTotals(u64, [Option<u64>; 9], [u8; CollectorTotals::BYTES]),
}

impl Owned {
    fn message(&self) -> Message<'_> {
        let body = match &self.kind {
            Kind::Allocation {
                words: [id, size, samples],
                source,
                kind,
                shared,
                frames,
                truncated,
            } => {
                let fresh = match frames {
                    OwnedFrames::Words(words) => Frames::Words(words),
                    OwnedFrames::Runs(runs) => Frames::Runs(runs),
                };
                Body::Allocation {
                    id: SampleId(*id),
                    size: *size,
                    samples: *samples,
                    source: *source,
                    kind: *kind,
                    backtrace: BacktraceDelta { shared: *shared, fresh, truncated: *truncated },
                }
            }
            Kind::Release(id) => Body::Release { id: SampleId(*id) },
            Kind::Promotion(id) => Body::Promotion { id: SampleId(*id) },
            Kind::Placed(id, address, size) => {
                Body::Placed { id: SampleId(*id), block: Place::new(*address, *size) }
            }
            Kind::Measured(id, size) => Body::Measured { id: SampleId(*id), size: *size },
            Kind::ModuleLoaded { words: [bias, start, end], build_id, path } => {
                let (bias, start, end) = (*bias, *start, *end);
                Body::ModuleLoaded(Module { bias, start, end, build_id, path })
            }
            Kind::ModuleUnloaded(start) => Body::ModuleUnloaded { start: *start },
            Kind::ThreadStarted(os_id) => Body::ThreadStarted { os_id: *os_id },
            Kind::ThreadEnded => Body::ThreadEnded,
            Kind::Notice(code) => Body::Notice { code },
            Kind::RuntimeCount(name, value) => Body::RuntimeCount { name, value: *value },
            Kind::Exiting => Body::Exiting,
            Kind::Rate(bits) => Body::Rate { bits: *bits },
            Kind::Context(frames) => Body::Context { frames: Frames::Words(frames) },
            Kind::AllocatorTotals(in_use, held) => {
                Body::AllocatorTotals { in_use: *in_use, held: *held }
            }
            Kind::FrameName {
                frame,
                kind,
                places: [line, start_char, end_char],
                is_first,
                is_last,
                function,
                file,
            } => Body::FrameName(FrameName {
                frame: *frame,
                kind: FrameKind(*kind),
                is_first: *is_first,
                is_last: *is_last,
                line: *line,
                start_char: *start_char,
                end_char: *end_char,
                function,
                file,
            }),
            Kind::FrameAddress(frame, address) => {
                Body::FrameAddress { frame: *frame, address: *address }
            }
            Kind::Runtime(name, blocks_are_mallocs, version) => Body::Runtime {
                name: SourceName::of_word(*name),
                blocks_are_mallocs: *blocks_are_mallocs,
                version,
            },
            Kind::CollectorTotals(_, _, bytes) => Body::from(bytes),
            Kind::NamesPending(are_pending) => Body::NamesPending { are_pending: *are_pending },
            Kind::Pages(step, address, size, (shared, truncated), frames) => Body::Pages {
                step: *step,
                pages: Place::new(*address, *size),
                backtrace: BacktraceDelta {
                    shared: *shared,
                    fresh: Frames::Words(frames),
                    truncated: *truncated,
                },
            },
        };
        Message { time: MonotonicNanos(self.time), thread: ThreadId(self.thread), body }
    }

    /// The layout as the codec's drawing has it, word by word.
    fn naive(&self) -> Vec<u8> {
        let (tag, detail, flags, words, bytes): (u64, u64, u64, Vec<u64>, Vec<u8>) =
            match &self.kind {
                Kind::Allocation { words, source, kind, shared, frames, truncated } => {
                    let (tag, count, frames): (u64, usize, Vec<u8>) = match frames {
                        OwnedFrames::Words(words) => {
                            (1, words.len(), words.iter().flat_map(|it| it.to_le_bytes()).collect())
                        }
                        OwnedFrames::Runs(runs) => {
                            let bytes = runs.iter().flat_map(|it| it.to_le_bytes()).collect();
                            (16, runs.len(), bytes)
                        }
                    };
                    let words = [&words[..], &[(count as u64) << 32 | u64::from(*shared)]].concat();
                    let kind = match kind {
                        AllocationKind::Plain => 0,
                        AllocationKind::Growth => 2,
                        AllocationKind::Deserialised => 4,
                        AllocationKind::Outside(kind) => 6 + 16 * u64::from(kind.number()),
                    };
                    (tag, *source as u64, u64::from(*truncated) + kind, words, frames)
                }
                Kind::Release(id) => (2, 0, 0, vec![*id], vec![]),
                Kind::Promotion(id) => (3, 0, 0, vec![*id], vec![]),
                Kind::Placed(id, address, size) => {
                    (21, 0, 0, vec![*id, disguise(*address), *size], vec![])
                }
                Kind::Measured(id, size) => (20, 0, 0, vec![*id, *size], vec![]),
                Kind::ModuleLoaded { words, build_id, path } => {
                    let lengths = (path.len() as u64) << 32 | build_id.len() as u64;
                    (4, 0, 0, [&words[..], &[lengths]].concat(), [&build_id[..], path].concat())
                }
                Kind::ModuleUnloaded(start) => (5, 0, 0, vec![*start], vec![]),
                Kind::ThreadStarted(os_id) => (6, 0, 0, vec![u64::from(*os_id)], vec![]),
                Kind::ThreadEnded => (7, 0, 0, vec![], vec![]),
                Kind::Notice(code) => (8, 0, 0, vec![code.len() as u64], code.clone()),
                Kind::Exiting => (9, 0, 0, vec![], vec![]),
                Kind::RuntimeCount(name, value) => {
                    (19, 0, 0, vec![*value, name.len() as u64], name.clone())
                }
                Kind::AllocatorTotals(in_use, held) => (10, 0, 0, vec![*in_use, *held], vec![]),
                Kind::FrameName { frame, kind, places, is_first, is_last, function, file } => {
                    let flags = u64::from(*is_last) | u64::from(*is_first) << 1;
                    let [line, start, end] = places.map(u64::from);
                    let lengths = (file.len() as u64) << 32 | function.len() as u64;
                    let words = vec![*frame, start << 32 | line, end, lengths];
                    (11, u64::from(*kind), flags, words, [&function[..], file].concat())
                }
                Kind::Runtime(name, blocks_are_mallocs, version) => {
                    let words = vec![*name, version.len() as u64];
                    (12, u64::from(*blocks_are_mallocs), 0, words, version.clone())
                }
                Kind::CollectorTotals(name, figures, _) => {
                    let known = (0..9).filter(|&at| figures[at].is_some()).map(|at| 1 << at).sum();
                    let figures = figures.map(Option::unwrap_or_default);
                    (13, 0, 0, [&[*name, known], &figures[..]].concat(), vec![])
                }
                Kind::Rate(bits) => (14, 0, 0, vec![*bits], vec![]),
                Kind::NamesPending(are_pending) => (18, u64::from(*are_pending), 0, vec![], vec![]),
                Kind::Context(frames) => {
                    (15, 0, 0, [&[frames.len() as u64], &frames[..]].concat(), vec![])
                }
                Kind::FrameAddress(frame, address) => (17, 0, 0, vec![*frame, *address], vec![]),
                Kind::Pages(step, address, size, (shared, truncated), frames) => {
                    let counts = (frames.len() as u64) << 32 | u64::from(*shared);
                    let words = [&[disguise(*address), *size, counts], &frames[..]].concat();
                    (22, *step as u64, u64::from(*truncated), words, vec![])
                }
            };
        let first = tag | detail << 8 | flags << 16 | u64::from(self.thread) << 32;
        let words = [first, self.time].into_iter().chain(words);
        words.flat_map(u64::to_le_bytes).chain(bytes).collect()
    }
}

fn encoded(message: &Message<'_>) -> Vec<u8> {
    let mut buffer = [0xaa; MAX_HEAD];
    let encoded = encode(message, &mut buffer);
    encoded.head.iter().copied().chain(encoded.tail.bytes()).collect()
}

fn kind() -> impl Strategy<Value = Kind> {
    use SourceKind::{External, Major, Malloc, Minor};
    let source = prop::sample::select(vec![Malloc, Minor, Major, External]);
    let usual = prop::sample::select(vec![
        AllocationKind::Plain,
        AllocationKind::Growth,
        AllocationKind::Deserialised,
    ]);
    let outside = (0..MemoryKind::MOST).prop_filter_map("too large", MemoryKind::new);
    let kind = prop_oneof![usual, outside.prop_map(AllocationKind::Outside)];
    let frames = prop::collection::vec(any::<u64>(), 0..200);
    let context = frames.clone();
    let step = prop::sample::select(Step::ALL.to_vec());
    let pages = (step, any::<[u64; 2]>(), any::<(u32, bool)>(), frames.clone());
    let run = (0..=Run::LAST_NUMBER, 1..60usize)
        .prop_map(|(number, frames)| ((frames - 1) << 20) as u32 | number);
    let runs = prop::collection::vec(run, 0..200);
    let frames = prop_oneof![frames.prop_map(OwnedFrames::Words), runs.prop_map(OwnedFrames::Runs)];
    let allocation = (any::<[u64; 3]>(), source, kind, any::<u32>(), frames, any::<bool>());
    let build_id = prop::collection::vec(any::<u8>(), 0..=MAX_BUILD_ID).boxed();
    let path = prop::collection::vec(any::<u8>(), 0..=MAX_PATH).boxed();
    let name =
        (any::<(u64, u8)>(), any::<[u32; 3]>(), any::<[bool; 2]>(), build_id.clone(), path.clone());
    prop_oneof![
        allocation.prop_map(|(words, source, kind, shared, frames, truncated)| {
            Kind::Allocation { words, source, kind, shared, frames, truncated }
        }),
        any::<u64>().prop_map(Kind::Release),
        any::<u64>().prop_map(Kind::Promotion),
        any::<(u64, u64, u64)>().prop_map(|(id, address, size)| Kind::Placed(id, address, size)),
        any::<(u64, u64)>().prop_map(|(id, size)| Kind::Measured(id, size)),
        (any::<[u64; 3]>(), build_id.clone(), path)
            .prop_map(|(words, build_id, path)| Kind::ModuleLoaded { words, build_id, path }),
        any::<u64>().prop_map(Kind::ModuleUnloaded),
        any::<u32>().prop_map(Kind::ThreadStarted),
        Just(Kind::ThreadEnded),
        build_id.clone().prop_map(Kind::Notice),
        (build_id.clone(), any::<u64>()).prop_map(|(name, value)| Kind::RuntimeCount(name, value)),
        Just(Kind::Exiting),
        any::<(u64, u64)>().prop_map(|(in_use, held)| Kind::AllocatorTotals(in_use, held)),
        name.prop_map(|((frame, kind), places, [is_first, is_last], function, file)| {
            Kind::FrameName { frame, kind, places, is_first, is_last, function, file }
        }),
        any::<(u64, u64)>().prop_map(|(frame, address)| Kind::FrameAddress(frame, address)),
        (any::<u64>(), any::<bool>(), build_id)
            .prop_map(|(name, are_mallocs, version)| Kind::Runtime(name, are_mallocs, version)),
        any::<(u64, [Option<u64>; 9])>().prop_map(|(name, figures)| {
            let totals = CollectorTotals::of_figures(SourceName::of_word(name), figures);
            Kind::CollectorTotals(name, figures, totals.to_bytes())
        }),
        any::<u64>().prop_map(Kind::Rate),
        any::<bool>().prop_map(Kind::NamesPending),
        context.prop_map(Kind::Context),
        pages.prop_map(|(step, [address, size], shared, frames)| {
            Kind::Pages(step, address, size, shared, frames)
        }),
    ]
}

fn owned() -> impl Strategy<Value = Owned> {
    (any::<u64>(), any::<u32>(), kind()).prop_map(|(time, thread, kind)| Owned {
        time,
        thread,
        kind,
    })
}

fn bytes(length: std::ops::Range<usize>) -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), length)
}

proptest! {
    #[test]
    fn what_is_encoded_is_decoded(message in owned()) {
        let bytes = encoded(&message.message());
        prop_assert_eq!(decode(&bytes), Ok(message.message()));
        prop_assert!(bytes.len() <= MAX_LEN);
    }

    #[test]
    fn a_collectors_figures_come_back(name: u64, figures: [Option<u64>; 9]) {
        let totals = CollectorTotals::of_figures(SourceName::of_word(name), figures);
        let bytes = totals.to_bytes();
        prop_assert_eq!(EncodedTotals::new(&bytes).map(EncodedTotals::totals), Some(totals));
    }

    #[test]
    fn the_naive_twin_agrees(message in owned()) {
        prop_assert_eq!(encoded(&message.message()), message.naive());
    }

    #[test]
    fn no_part_of_a_message_is_a_message(message in owned(), part in 0.0..1.0) {
        let bytes = encoded(&message.message());
        let length = (bytes.len() as f64 * part) as usize;
        prop_assert_eq!(decode(&bytes[..length]), Err(DecodeError::Length));
    }

    #[test]
    fn nothing_may_follow_a_message(message in owned(), more in bytes(1..20)) {
        let bytes = [encoded(&message.message()), more].concat();
        prop_assert_eq!(decode(&bytes), Err(DecodeError::Length));
    }

    #[test]
    fn foreign_bytes_do_not_panic(mut bytes in bytes(0..100), tag in 0u8..24) {
        if let Some(first) = bytes.first_mut() {
            *first = tag;
        }
        if let Ok(message) = decode(&bytes) {
            prop_assert!(bytes.len() >= 16, "{:?}", message);
        }
    }
}

proptest! {
    #[test]
    fn frames_are_the_same_in_each_form(runs in prop::collection::vec((0..3u32, 1..4usize), 0..40)) {
        let runs: Vec<u32> = runs.into_iter().map(|(number, frames)| Run::new(number, frames).0).collect();
        let run_bytes: Vec<u8> = runs.iter().flat_map(|run| run.to_le_bytes()).collect();
        let words: Vec<u64> = Frames::Runs(&runs).iter().collect();
        let word_bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let forms = [
            Frames::Words(&words),
            Frames::Runs(&runs),
            Frames::WordBytes(&word_bytes),
            Frames::RunBytes(&run_bytes),
        ];
        for frames in forms {
            let mut outward = Vec::new();
            frames.for_each_run_outward(|word, count| outward.extend(std::iter::repeat_n(word, count)));
            prop_assert!(outward.iter().rev().eq(&words));
            prop_assert!(frames.iter().eq(words.iter().copied()));
            prop_assert_eq!(frames.len(), words.len());
        }
    }
}

/// The ring writes those faster.
#[test]
fn what_each_sample_says_has_heads_of_the_lengths_that_the_ring_knows() {
    let head = |body| {
        let mut buffer = [0; MAX_HEAD];
        let message = Message { time: MonotonicNanos(1), thread: ThreadId(1), body };
        encode(&message, &mut buffer).head.len()
    };
    let id = SampleId(1);
    assert_eq!(head(Body::Release { id }), RELEASE_HEAD);
    assert_eq!(head(Body::Promotion { id }), RELEASE_HEAD);
    for fresh in [Frames::Words(&[1, 2]), Frames::Runs(&[1, 2])] {
        let (source, kind) = (SourceKind::Minor, AllocationKind::Plain);
        let backtrace = BacktraceDelta { shared: 0, fresh, truncated: false };
        let born = Body::Allocation { id, size: 8, samples: 1, source, kind, backtrace };
        assert_eq!(head(born), ALLOCATION_HEAD);
    }
}

#[test]
fn the_largest_messages_fit() {
    let frames = OwnedFrames::Words(vec![u64::MAX; MAX_FRAMES]);
    let words = [0; 3];
    let (source, kind, truncated) = (SourceKind::Malloc, AllocationKind::Plain, true);
    let largest = Kind::Allocation { words, source, kind, shared: 0, frames, truncated };
    let names =
        Kind::ModuleLoaded { words, build_id: vec![1; MAX_BUILD_ID], path: vec![2; MAX_PATH] };
    for kind in [largest, names] {
        let message = Owned { time: 0, thread: 0, kind };
        let bytes = encoded(&message.message());
        assert!(bytes.len() <= MAX_LEN);
        assert_eq!(decode(&bytes), Ok(message.message()));
    }
}

#[test]
fn runs_are_as_many_frames() {
    let fresh = Frames::Runs(&[7, 2 << 20 | 9, 0xfff << 20]);
    let frames: Vec<u64> = fresh.iter().map(|word| word ^ MANAGED_FRAME).collect();
    assert_eq!((&frames[..5], frames.len(), fresh.len()), (&[7, 9, 9, 9, 0][..], 4100, 4100));
    assert!(frames[5..].iter().all(|&frame| frame == 0));
    assert!(fresh.iter().rev().eq(frames.iter().rev().map(|frame| frame ^ MANAGED_FRAME)));
    assert_eq!(Run::new(9, 3), Run(2 << 20 | 9));
    assert_eq!((Run(2 << 20 | 9).number(), Run::frames_of(&[7, 2 << 20 | 9])), (9, 4));
}

#[test]
fn no_runs_have_more_frames_than_a_backtrace() {
    for (runs, is_too_long) in [(vec![0xfff << 20; 3], false), (vec![0xfff << 20; 4], true)] {
        let (source, kind) = (SourceKind::Minor, AllocationKind::Plain);
        let frames = OwnedFrames::Runs(runs);
        let words = [0; 3];
        let kind = Kind::Allocation { words, source, kind, shared: 0, frames, truncated: false };
        let message = Owned { time: 0, thread: 0, kind };
        let bytes = encoded(&message.message());
        let decoded = if is_too_long { Err(DecodeError::Length) } else { Ok(message.message()) };
        assert_eq!(decode(&bytes), decoded);
    }
}

#[test]
fn what_is_too_long_is_cut() {
    let (build_id, path) = (vec![1; MAX_BUILD_ID + 9], vec![2; MAX_PATH + 9]);
    let kind = Kind::ModuleLoaded { words: [0; 3], build_id, path };
    let bytes = encoded(&Owned { time: 0, thread: 0, kind }.message());
    let Ok(Message { body: Body::ModuleLoaded(module), .. }) = decode(&bytes) else { panic!() };
    assert_eq!((module.build_id.len(), module.path.len()), (MAX_BUILD_ID, MAX_PATH));
}

#[test]
fn tags_that_do_not_exist() {
    for tag in [0u8, 23, 255] {
        let bytes = [u64::from(tag).to_le_bytes(), [0; 8]].concat();
        assert_eq!(decode(&bytes), Err(DecodeError::Tag(tag)));
    }
    for kind in [4u64, 7, 1 | 1 << 3, 2 | 9 << 3] {
        let allocation = [1 | kind << 17, 0, 1, 8, 1, 0].map(u64::to_le_bytes).concat();
        assert_eq!(decode(&allocation), Err(DecodeError::Tag(kind as u8 & 7)));
    }
    let totals = [13, 0, 0, 1 << 9, 0, 0, 0, 0, 0, 0, 0, 0, 0].map(u64::to_le_bytes).concat();
    assert_eq!(decode(&totals), Err(DecodeError::Tag(13)));
}
