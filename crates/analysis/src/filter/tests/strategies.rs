//! Any filter, any text that is nearly one, any life and any bounds.

use lifetrace_trace::event::Source;
use lifetrace_trace::ids::{Bytes, ThreadId, Timestamp};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use super::super::*;

/// Names that are hard to write down.
const NAMES: &[&str] = &[
    "main",
    "7",
    "x:12",
    ":7",
    "a,",
    ",",
    "'",
    "\"",
    "\"\"",
    "=x",
    "~x",
    "!x",
    ":x",
    "<x>",
    "operator new(unsigned long)",
    "a\nb",
    "ö",
    "日本",
    "\u{1f}",
    "\u{200b}",
    "minor",
    "not",
    "..",
    "and",
    "a;b",
    "*",
    "C:\\x",
];

fn name() -> impl Strategy<Value = String> {
    prop_oneof![select(NAMES).prop_map(String::from), ".{1,8}", "[a-z\"' :;,=~!0-9]{1,6}"]
}

pub(super) fn text() -> impl Strategy<Value = Text> {
    let regexes =
        select(&["^caml_", "a|b", "\\d+ \"x\"", "(?i)foo$", ".", "x:12", "\"", "'", "=~"][..]);
    let regex = prop_oneof![
        regexes.prop_map(String::from),
        name().prop_map(|name| regex_syntax::escape(&name))
    ];
    prop_oneof![
        name().prop_map(Text::Exact),
        name().prop_map(Text::Contains),
        regex.prop_map(|text| Text::Regex(Pattern::new(&text).unwrap())),
    ]
}

fn micros() -> impl Strategy<Value = Micros> {
    let units = select(&[1, 1_000, 1_000_000, 60_000_000, 3_600_000_000, 86_400_000_000][..]);
    prop_oneof![
        (0..40_u64).prop_map(|small| Micros::new(small).unwrap()),
        (units, 0..100_u64).prop_map(|(unit, count)| Micros::new(unit * count).unwrap()),
        Just(Micros::MAX),
    ]
}

fn share() -> impl Strategy<Value = Share> {
    prop_oneof![0..=1_000_000_u32, (0..=100_u32).prop_map(|percent| percent * 10_000)]
        .prop_map(|millionths| Share::new(millionths).unwrap())
}

pub(super) fn moment() -> impl Strategy<Value = Moment> {
    let anchor = select(&[Anchor::Start, Anchor::End, Anchor::Peak][..]);
    let offset = prop_oneof![
        Just(Offset::NONE),
        micros().prop_map(Offset::after),
        micros().prop_map(Offset::before)
    ];
    let date = prop_oneof![0..100_u64, 0..253_402_300_800_000_000_u64];
    prop_oneof![
        (anchor, offset).prop_map(|(anchor, offset)| Moment::From(anchor, offset)),
        share().prop_map(Moment::Share),
        date.prop_map(|time| Moment::Date(Date::new(Timestamp(time)).unwrap())),
    ]
}

fn when() -> impl Strategy<Value = When> {
    prop_oneof![
        moment().prop_map(When::At),
        moment().prop_map(When::Before),
        moment().prop_map(When::After),
        (moment(), moment()).prop_filter_map("empty", |(first, second)| {
            (!first.never_precedes(second)).then_some(When::Between(first, second))
        }),
    ]
}

fn limits<T: Copy + std::fmt::Debug + 'static>(
    value: impl Strategy<Value = T> + Clone + 'static,
    is_empty: fn(T, T) -> bool,
) -> impl Strategy<Value = Limits<T>> {
    prop_oneof![
        value.clone().prop_map(Limits::Equal),
        value.clone().prop_map(Limits::Below),
        value.clone().prop_map(Limits::AtMost),
        value.clone().prop_map(Limits::Above),
        value.clone().prop_map(Limits::AtLeast),
        (value.clone(), value).prop_filter_map("empty", move |(first, second)| {
            (!is_empty(first, second)).then_some(Limits::Between(first, second))
        }),
    ]
}

fn sizes() -> impl Strategy<Value = Limits<ByteSize>> {
    let bytes = select(
        &[0, 1, 30, 1_000, 1_024, 4_096, 5_000_000, 1 << 30, 3_000_000_000_000, u64::MAX][..],
    );
    let size = bytes.prop_map(|bytes| ByteSize(Bytes(bytes)));
    limits(size.boxed(), |first, second| first >= second)
}

fn lifetimes() -> impl Strategy<Value = Limits<Span>> {
    let span = prop_oneof![micros().prop_map(Span::Time), share().prop_map(Span::Share)];
    limits(span.boxed(), |first, second| match (first, second) {
        (Span::Time(first), Span::Time(second)) => first >= second,
        (Span::Share(first), Span::Share(second)) => first >= second,
        _ => false,
    })
}

pub(super) fn pattern() -> impl Strategy<Value = FramePattern> {
    prop_oneof![
        text().prop_map(FramePattern::Function),
        text().prop_map(FramePattern::Module),
        text().prop_map(FramePattern::Class),
        (text(), option::of(any::<u32>())).prop_map(|(path, line)| FramePattern::File(path, line)),
    ]
}

fn thread() -> impl Strategy<Value = ThreadClaim> {
    prop_oneof![
        (0..5_u32).prop_map(|number| ThreadClaim::Number(ThreadId(number))),
        text().prop_map(ThreadClaim::Name)
    ]
}

fn source() -> impl Strategy<Value = SourceClaim> {
    prop_oneof![
        select(&KnownSource::ALL[..]).prop_map(SourceClaim::Known),
        text().prop_map(SourceClaim::Sampler)
    ]
}

/// Those about backtraces, or the others.
fn presets(of_frames: bool) -> Vec<Preset> {
    Preset::ALL.into_iter().filter(|preset| preset.frame().is_some() == of_frames).collect()
}

/// About lives alone.
fn life_claim() -> impl Strategy<Value = Claim> {
    prop_oneof![
        select(presets(false)).prop_map(Claim::Preset),
        when().prop_map(Claim::Allocated),
        option::of(when()).prop_map(Claim::Freed),
        when().prop_map(Claim::Alive),
        option::of(when()).prop_map(Claim::Promoted),
        Just(Claim::InOldHeap),
        sizes().prop_map(Claim::Size),
        lifetimes().prop_map(Claim::Lifetime),
        thread().prop_map(Claim::Thread),
        source().prop_map(Claim::Source),
    ]
}

fn other_claim() -> impl Strategy<Value = Claim> {
    let frame = (any::<bool>(), pattern()).prop_map(|(innermost, pattern)| {
        // An object's class is no callsite.
        let innermost = innermost && !matches!(pattern, FramePattern::Class(_));
        Claim::Frame(FrameClaim { innermost, pattern })
    });
    let label = (name(), option::of(text()))
        .prop_map(|(key, value)| Claim::Label(LabelClaim { key, value }));
    prop_oneof![frame, label, select(presets(true)).prop_map(Claim::Preset)]
}

fn filter_of(claim: impl Strategy<Value = Claim>) -> impl Strategy<Value = Filter> {
    let term = (any::<bool>(), claim).prop_map(|(negated, claim)| Term { negated, claim });
    vec(term, 0..6).prop_map(|terms| Filter { terms, ..Filter::default() })
}

pub(super) fn filter() -> impl Strategy<Value = Filter> {
    filter_of(prop_oneof![life_claim(), other_claim()])
}

pub(super) fn life_filter() -> impl Strategy<Value = Filter> {
    filter_of(life_claim())
}

/// Pieces of filters in any order.
pub(super) fn scribble() -> impl Strategy<Value = String> {
    const PIECES: &[&str] = &[
        "allocated",
        "freed",
        "alive",
        "at",
        "before",
        "between",
        "and",
        "not",
        "!",
        "size",
        "lifetime",
        "fn",
        "class",
        "file",
        "innermost",
        "label",
        "thread",
        "source",
        "leaks",
        "peak",
        "end",
        "start",
        "10s",
        "5",
        "%",
        "KiB",
        "..",
        "=",
        "~",
        ":",
        "<",
        ">",
        "-",
        "+",
        ",",
        "(",
        "\"",
        "'",
        "2026-01-12",
        "T13:44",
        "[",
        "\\",
        "日",
        "\u{301}",
    ];
    let piece = prop_oneof![select(PIECES).prop_map(String::from), name()];
    vec((piece, any::<bool>()), 0..8).prop_map(|pieces| {
        let spaced =
            pieces.iter().map(|(piece, space)| format!("{piece}{}", if *space { " " } else { "" }));
        spaced.collect()
    })
}

/// A life with times near those of [`bounds`].
#[derive(Clone, Debug)]
pub(super) struct OwnedLife {
    pub born: u64,
    pub died: Option<u64>,
    pub promoted: Option<u64>,
    pub bytes: u64,
    pub source: Source,
    pub sampler: Option<&'static str>,
    pub thread: Option<u32>,
    pub thread_name: Option<&'static str>,
}

impl OwnedLife {
    pub fn life(&self) -> Life<'static> {
        Life {
            born: Timestamp(self.born),
            died: self.died.map(Timestamp),
            promoted: self.promoted.map(Timestamp),
            bytes: Bytes(self.bytes),
            source: self.source,
            sampler: self.sampler,
            thread: self.thread.map(ThreadId),
            thread_name: self.thread_name,
        }
    }
}

/// With times below `latest`.
pub(super) fn life(latest: u64) -> impl Strategy<Value = OwnedLife> {
    let time = move || prop_oneof![0..60_u64, 0..latest];
    let bytes = select(&[0, 1, 29, 30, 31, 999, 1_000, 1_024, 4_096, u64::MAX][..]);
    let source = select(&[Source::Minor, Source::Major, Source::External][..]);
    let sampler =
        option::of(select(&["malloc", "ocaml", "ruby", "mmap", "arena", "main", "7"][..]));
    let thread_name = option::of(select(&["main", "7", "worker"][..]));
    (
        time(),
        option::of(time()),
        option::of(time()),
        bytes,
        source,
        sampler,
        option::of(0..5_u32),
        thread_name,
    )
        .prop_map(|(born, died, promoted, bytes, source, sampler, thread, thread_name)| {
            OwnedLife { born, died, promoted, bytes, source, sampler, thread, thread_name }
        })
}

/// Start, last event, peak, and readings of the clock in order.
pub(super) fn bounds() -> impl Strategy<Value = (u64, u64, u64, Vec<ClockReading>)> {
    let readings = vec((0..60_u64, 0..60_u64), 0..3).prop_map(|mut readings| {
        readings.sort_unstable();
        let reading = |(at, shows)| ClockReading { at: Timestamp(at), shows: Timestamp(shows) };
        readings.into_iter().map(reading).collect()
    });
    (0..40_u64, 0..60_u64, 0..60_u64, readings)
}
