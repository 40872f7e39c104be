//! What a filter says: terms, all of which must hold.

use std::fmt;

use lifetrace_trace::event::Source;
use lifetrace_trace::ids::ThreadId;

use super::moment::Moment;
use super::presets::Preset;
use super::quantity::{ByteSize, Span};
use super::text::{Quoted, Text, needs_quotes};
use super::window::{Limits, When};

/// A claim, or that it does not hold.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Term {
    /// Whether it must not hold.
    pub negated: bool,
    /// What is claimed.
    pub claim: Claim,
}

/// What can be said of a block.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Claim {
    /// All that the preset's terms say.
    Preset(Preset),
    /// It is born then.
    Allocated(When),
    /// It dies then, or at any time.
    Freed(Option<When>),
    /// It lives at some moment of this time.
    Alive(When),
    /// It is promoted then, or at any time.
    Promoted(Option<When>),
    /// It comes to be in an old heap: is born there, or promoted. Then its life begins with that.
    InOldHeap,
    /// How large it is.
    Size(Limits<ByteSize>),
    /// How long it lives.
    Lifetime(Limits<Span>),
    /// Who allocates it.
    Thread(ThreadClaim),
    /// Where it comes from.
    Source(SourceClaim),
    /// What its backtrace has.
    Frame(FrameClaim),
    /// What its trace is labelled.
    Label(LabelClaim),
}

/// Which threads.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ThreadClaim {
    /// The one that the trace numbers so.
    Number(ThreadId),
    /// Those that are called like this.
    Name(Text),
}

/// Which sources of blocks.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum SourceClaim {
    /// One that every trace may have.
    Known(KnownSource),
    /// Samplers that are called like this.
    Sampler(Text),
}

/// A source of blocks that every trace may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KnownSource {
    /// malloc and its like.
    Native,
    /// The young heap of a garbage collector.
    Minor,
    /// The old heap of a garbage collector, directly.
    Major,
    /// Outside of any collected heap.
    External,
    /// OCaml's heaps.
    OCaml,
    /// Ruby's objects.
    Ruby,
    /// Memory that was mapped, the arenas of allocators and runtimes included.
    Mmap,
    /// Such arenas.
    Arena,
}

impl KnownSource {
    /// All that there are.
    pub const ALL: [Self; 8] = [
        Self::Native,
        Self::Minor,
        Self::Major,
        Self::External,
        Self::OCaml,
        Self::Ruby,
        Self::Mmap,
        Self::Arena,
    ];

    /// As filters write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Minor => "minor",
            Self::Major => "major",
            Self::External => "external",
            Self::OCaml => "ocaml",
            Self::Ruby => "ruby",
            Self::Mmap => "mmap",
            Self::Arena => "arena",
        }
    }

    /// Whether a block from `source` that was sampled by `sampler` comes from here. Traces in
    /// Memtrace's format name no sampler: their heaps are OCaml's.
    pub fn matches(self, source: Source, sampler: Option<&str>) -> bool {
        match self {
            Self::Native => source == Source::External && matches!(sampler, None | Some("malloc")),
            Self::Minor => source == Source::Minor,
            Self::Major => source == Source::Major,
            Self::External => source == Source::External,
            Self::OCaml => sampler.map_or(source != Source::External, |name| name == "ocaml"),
            Self::Ruby => sampler == Some("ruby"),
            Self::Mmap => matches!(sampler, Some("mmap" | "arena")),
            Self::Arena => sampler == Some("arena"),
        }
    }
}

/// What a backtrace has.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FrameClaim {
    /// Whether it must be the callsite: the innermost frame that is not allocation machinery.
    pub innermost: bool,
    /// Which frames.
    pub pattern: FramePattern,
}

/// Which frames.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum FramePattern {
    /// By the function.
    Function(Text),
    /// By the source file, and the line in it.
    File(Text, Option<u32>),
    /// By the object file.
    Module(Text),
    /// By the object's class, which is the innermost frame of objects that have one.
    Class(Text),
}

/// What a trace is labelled.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LabelClaim {
    /// Exactly this.
    pub key: String,
    /// Any, if none.
    pub value: Option<Text>,
}

impl Claim {
    /// The moments that it names.
    pub(super) fn moments(&self) -> impl Iterator<Item = Moment> {
        let when = match self {
            Self::Allocated(when) | Self::Alive(when) => Some(when),
            Self::Freed(when) | Self::Promoted(when) => when.as_ref(),
            _ => None,
        };
        when.into_iter().flat_map(When::moments)
    }
}

impl From<Claim> for Term {
    fn from(claim: Claim) -> Self {
        Self { negated: false, claim }
    }
}

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.negated, &self.claim) {
            (true, claim) => write!(f, "not {claim}"),
            (false, claim) => claim.fmt(f),
        }
    }
}

impl fmt::Display for Claim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let event = |f: &mut fmt::Formatter<'_>, word, when: &Option<When>| match when {
            Some(when) => write!(f, "{word}{when}"),
            None => f.write_str(word),
        };
        match self {
            Self::Preset(preset) => f.write_str(preset.name()),
            Self::Allocated(when) => write!(f, "allocated{when}"),
            Self::Freed(when) => event(f, "freed", when),
            Self::Alive(when) => write!(f, "alive{when}"),
            Self::Promoted(when) => event(f, "promoted", when),
            Self::InOldHeap => f.write_str("in old heap"),
            Self::Size(limits) => write!(f, "size{limits}"),
            Self::Lifetime(limits) => write!(f, "lifetime{limits}"),
            Self::Thread(thread) => write!(f, "thread{thread}"),
            Self::Source(source) => write!(f, "source{source}"),
            Self::Frame(frame) => frame.fmt(f),
            Self::Label(label) => write!(f, "label {label}"),
        }
    }
}

impl fmt::Display for ThreadClaim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "={}", number.0),
            Self::Name(Text::Exact(name)) if is_number(name) => {
                write!(f, "={}", Quoted(name, true))
            }
            Self::Name(name) => name.fmt(f),
        }
    }
}

/// Whether a name without quotes would be taken for a number.
pub(super) fn is_number(text: &str) -> bool {
    text.bytes().all(|next| next.is_ascii_digit())
}

impl fmt::Display for SourceClaim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Known(source) => write!(f, "={}", source.name()),
            Self::Sampler(Text::Exact(name)) => write!(f, "={}", Quoted(name, true)),
            Self::Sampler(name) => name.fmt(f),
        }
    }
}

impl fmt::Display for FrameClaim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let innermost = if self.innermost { "innermost " } else { "" };
        write!(f, "{innermost}{}", self.pattern)
    }
}

impl fmt::Display for FramePattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Function(name) => write!(f, "fn{name}"),
            Self::Module(path) => write!(f, "module{path}"),
            Self::Class(name) => write!(f, "class{name}"),
            Self::File(path, line) => {
                let text = path.as_str();
                let is_ambiguous = match path {
                    Text::Regex(_) => line.is_some(),
                    Text::Exact(_) | Text::Contains(_) => split_line(text).1.is_some(),
                };
                let quoted = Quoted(text, is_ambiguous || needs_quotes(text));
                write!(f, "file{}{quoted}", path.operator())?;
                line.map_or(Ok(()), |line| write!(f, ":{line}"))
            }
        }
    }
}

/// A file's name and the line behind it.
pub(super) fn split_line(text: &str) -> (&str, Option<&str>) {
    match text.rsplit_once(':') {
        Some((file, line)) if !line.is_empty() && is_number(line) => (file, Some(line)),
        _ => (text, None),
    }
}

impl fmt::Display for LabelClaim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", Quoted(&self.key, !self.key.chars().all(is_key) || self.key.is_empty()))?;
        self.value.as_ref().map_or(Ok(()), |value| value.fmt(f))
    }
}

/// Whether a character may be in a label's key that has no quotes.
pub(super) fn is_key(next: char) -> bool {
    next.is_alphanumeric() || matches!(next, '-' | '_' | '.' | '/')
}
