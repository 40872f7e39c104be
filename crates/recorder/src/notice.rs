//! What a user should know of a trace beside its events: from the agent, or found out here.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use lifetrace_transport::sources::SourceName;

use crate::lost::LookError;
use crate::stop::StopError;

/// One of these.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// The program has an allocator in itself that is not hooked.
    OwnAllocator,
    /// The process had much more memory of its own than was observed.
    UnexplainedMemory,
    /// About a managed runtime.
    OfRuntime(&'static RuntimeNotice),
    /// A file's symbols or its debug information cannot be read, or not all of it.
    Unread {
        /// What of it.
        what: Unread,
        /// The file.
        file: Arc<str>,
    },
    /// The process has executed another program, which is not traced.
    Became {
        /// Why not.
        why: Untraced,
        /// Its path, or what the kernel calls it.
        program: Arc<str>,
    },
    /// The process ran already when the recording began, if that is known for this time: nothing is known of what was
    /// before.
    BeganLate(Option<Duration>),
    /// The process was not recorded for this time before the trace begins: its recorder was away.
    Unheard(Duration),
    /// The process ran already, and so much later than the trace its runtime has come to a place where the sampling of its
    /// heap could begin.
    HeardFrom(SourceName, Duration),
    /// The process ran already, and its runtime of this name has come to no such place.
    NeverHeard(SourceName),
    /// The process was not looked through for blocks to which nothing points.
    NotLookedThrough(Unlooked),
}

/// Why it was not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unlooked {
    /// The system does not permit it.
    NotPermitted,
    /// A debugger or its like has the process.
    Traced,
    /// One of its threads could not be stopped.
    Busy,
    /// Its memory could not be read.
    Unreadable,
    /// Events were lost, or blocks are freed unheard: what is free may seem to be lost.
    Losses,
}

impl Unlooked {
    /// All of them.
    pub const ALL: [Unlooked; 5] = [
        Unlooked::NotPermitted,
        Unlooked::Traced,
        Unlooked::Busy,
        Unlooked::Unreadable,
        Unlooked::Losses,
    ];

    /// Nothing if it has ended: of what was killed nobody expects that it was.
    pub(crate) fn of(error: &LookError) -> Option<Unlooked> {
        Some(match error {
            LookError::Stop(StopError::NotPermitted) => Unlooked::NotPermitted,
            LookError::Stop(StopError::Traced(_)) => Unlooked::Traced,
            LookError::Stop(StopError::Busy) => Unlooked::Busy,
            LookError::Stop(StopError::Gone) => return None,
            LookError::Stop(StopError::System(_))
            | LookError::Memory(_)
            | LookError::Unreadable
            | LookError::Failed => Unlooked::Unreadable,
        })
    }

    fn code(self) -> &'static str {
        match self {
            Unlooked::NotPermitted => "not-looked-permission",
            Unlooked::Traced => "not-looked-traced",
            Unlooked::Busy => "not-looked-busy",
            Unlooked::Unreadable => "not-looked-unreadable",
            Unlooked::Losses => "not-looked-losses",
        }
    }
}

/// What a user may have to know of a managed runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RuntimeNotice {
    /// As traces have it.
    pub code: &'static str,
    /// Whether there was something that could not be sampled.
    pub is_of_unsampled: bool,
    /// Whether the runtime's heap was asked for, and there is none.
    pub is_of_absence: bool,
}

impl RuntimeNotice {
    pub(crate) const fn plain(code: &'static str) -> RuntimeNotice {
        RuntimeNotice { code, is_of_unsampled: false, is_of_absence: false }
    }

    pub(crate) const fn unsampled(code: &'static str) -> RuntimeNotice {
        RuntimeNotice { is_of_unsampled: true, ..RuntimeNotice::plain(code) }
    }

    pub(crate) const fn absence(code: &'static str) -> RuntimeNotice {
        RuntimeNotice { is_of_absence: true, ..RuntimeNotice::plain(code) }
    }
}

/// Why names cannot be read, or not all that is known of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unread {
    /// It is compressed in a way that is not known.
    Compressed,
    /// It is in files beside, `.dwo` or `.dwp`, that are not there.
    Split,
    /// A part is in a file that several share, which is not there.
    Shared,
    /// It makes no sense.
    Damaged,
    /// It could not be fetched from the servers that the environment names.
    Unfetched,
    /// No file of that build was found.
    Unfound,
}

impl Unread {
    /// All of them.
    pub const ALL: [Unread; 6] = [
        Unread::Compressed,
        Unread::Split,
        Unread::Shared,
        Unread::Damaged,
        Unread::Unfetched,
        Unread::Unfound,
    ];

    fn code(self) -> &'static str {
        match self {
            Unread::Compressed => "debug-info-compressed",
            Unread::Split => "debug-info-split",
            Unread::Shared => "debug-info-shared",
            Unread::Damaged => "debug-info-damaged",
            Unread::Unfetched => "debug-info-unfetched",
            Unread::Unfound => "file-unfound",
        }
    }
}

/// Why a program that a traced one has executed or started is not traced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Untraced {
    /// The agent or its recorder is not in its environment.
    Environment,
    /// It has no dynamic linker.
    Static,
    /// It has got other rights, for which the dynamic linker ignores its environment.
    Privileged,
    /// It is of another C library or processor, or has a sanitizer.
    Foreign,
}

impl Untraced {
    /// All of them.
    pub const ALL: [Untraced; 4] =
        [Untraced::Environment, Untraced::Static, Untraced::Privileged, Untraced::Foreign];

    fn code(self) -> &'static str {
        match self {
            Untraced::Environment => "became-unaware",
            Untraced::Static => "became-static",
            Untraced::Privileged => "became-privileged",
            Untraced::Foreign => "became-foreign",
        }
    }
}

impl Notice {
    /// All that are about nothing in particular, and about no runtime.
    pub(crate) const PLAIN: [Notice; 2] = [Notice::OwnAllocator, Notice::UnexplainedMemory];

    /// Whether there was something that could not be sampled.
    pub(crate) fn is_of_unsampled(&self) -> bool {
        match self {
            Notice::OwnAllocator | Notice::UnexplainedMemory => true,
            Notice::OfRuntime(notice) => notice.is_of_unsampled,
            Notice::Unread { .. }
            | Notice::Became { .. }
            | Notice::BeganLate(_)
            | Notice::Unheard(_)
            | Notice::HeardFrom(..)
            | Notice::NeverHeard(_)
            | Notice::NotLookedThrough(_) => false,
        }
    }

    /// Whether a managed heap was asked for, and there is none.
    pub fn is_of_absence(&self) -> bool {
        matches!(self, Notice::OfRuntime(notice) if notice.is_of_absence)
    }

    /// As traces have it: what it is, and behind a colon what it is about.
    pub fn code(&self) -> Cow<'static, str> {
        let code = self.plain_code();
        match self {
            Notice::Became { program: subject, .. } | Notice::Unread { file: subject, .. } => {
                format!("{code}:{subject}").into()
            }
            Notice::BeganLate(Some(age)) => format!("{code}:{:.1}", age.as_secs_f64()).into(),
            Notice::Unheard(time) => format!("{code}:{}", time.as_millis()).into(),
            Notice::NeverHeard(runtime) => format!("{code}:{runtime}").into(),
            Notice::HeardFrom(runtime, time) => {
                format!("{code}:{runtime}:{}", time.as_micros()).into()
            }
            _ => code.into(),
        }
    }

    fn plain_code(&self) -> &'static str {
        match self {
            Notice::Became { why, .. } => why.code(),
            Notice::Unread { what, .. } => what.code(),
            Notice::OwnAllocator => "own-allocator",
            Notice::UnexplainedMemory => "unheard-memory",
            Notice::OfRuntime(notice) => notice.code,
            Notice::NotLookedThrough(why) => why.code(),
            Notice::BeganLate(_) => "began-late",
            Notice::Unheard(_) => "unheard",
            Notice::HeardFrom(..) => "runtime-heard-from",
            Notice::NeverHeard(_) => "runtime-never-heard",
        }
    }
}
