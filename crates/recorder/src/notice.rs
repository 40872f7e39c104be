//! What a user should know of a trace beside its events: from the agent, or found out here.

use std::borrow::Cow;
use std::sync::Arc;

use lifetrace_transport::message::NoticeKind;

/// One of these.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// The program has an allocator in itself that is not heard.
    OwnAllocator,
    /// The process had much more memory of its own than was heard of.
    UnheardMemory,
    /// An OCaml runtime without a sampler, or one that is not known.
    UnknownOCaml,
    /// The OCaml heap is left to the Memtrace that the program has linked in.
    Memtrace,
    /// The program has used `Gc.Memprof` itself, which ended our use of it.
    OwnMemprof,
    /// A program that starts `Gc.Memprof` itself gets an exception.
    MemprofUnguarded,
    /// Lifetimes are too short: several domains, and a runtime that mistakes them.
    DomainsMisreported,
    /// An interpreter of OCaml bytecode: only its mallocs are in the trace.
    Bytecode,
    /// An OCaml runtime is linked in, and exports nothing.
    HiddenOCaml,
    /// OCaml's heap was asked for, and there is none.
    NoOCaml,
    /// A file's debug information cannot be read, or not all of it.
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
}

/// Why debug information cannot be read.
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
}

impl Unread {
    /// All of them.
    pub const ALL: [Unread; 4] =
        [Unread::Compressed, Unread::Split, Unread::Shared, Unread::Damaged];

    fn code(self) -> &'static str {
        match self {
            Unread::Compressed => "debug-info-compressed",
            Unread::Split => "debug-info-split",
            Unread::Shared => "debug-info-shared",
            Unread::Damaged => "debug-info-damaged",
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
    /// All that are about nothing in particular.
    pub const PLAIN: [Notice; 10] = [
        Notice::OwnAllocator,
        Notice::UnheardMemory,
        Notice::UnknownOCaml,
        Notice::Memtrace,
        Notice::OwnMemprof,
        Notice::MemprofUnguarded,
        Notice::DomainsMisreported,
        Notice::Bytecode,
        Notice::HiddenOCaml,
        Notice::NoOCaml,
    ];

    /// Whether there was something that could not be heard.
    pub(crate) fn is_of_unheard(&self) -> bool {
        use Notice::*;
        matches!(
            self,
            OwnAllocator
                | UnheardMemory
                | UnknownOCaml
                | HiddenOCaml
                | Bytecode
                | Memtrace
                | OwnMemprof
        )
    }

    /// As traces have it: what it is, and behind a colon what it is about.
    pub fn code(&self) -> Cow<'static, str> {
        let code = self.plain_code();
        match self {
            Notice::Became { program: subject, .. } | Notice::Unread { file: subject, .. } => {
                format!("{code}:{subject}").into()
            }
            _ => code.into(),
        }
    }

    fn plain_code(&self) -> &'static str {
        match self {
            Notice::Became { why, .. } => why.code(),
            Notice::Unread { what, .. } => what.code(),
            Notice::OwnAllocator => "own-allocator",
            Notice::UnheardMemory => "unheard-memory",
            Notice::UnknownOCaml => "ocaml-without-sampler",
            Notice::Memtrace => "ocaml-memtrace",
            Notice::OwnMemprof => "ocaml-own-memprof",
            Notice::MemprofUnguarded => "ocaml-memprof-unguarded",
            Notice::DomainsMisreported => "ocaml-domains-misreported",
            Notice::Bytecode => "ocaml-bytecode",
            Notice::HiddenOCaml => "ocaml-hidden",
            Notice::NoOCaml => "no-ocaml",
        }
    }
}

impl From<NoticeKind> for Notice {
    fn from(kind: NoticeKind) -> Notice {
        match kind {
            NoticeKind::OwnAllocator => Notice::OwnAllocator,
            NoticeKind::UnknownOCaml => Notice::UnknownOCaml,
            NoticeKind::Memtrace => Notice::Memtrace,
            NoticeKind::OwnMemprof => Notice::OwnMemprof,
            NoticeKind::MemprofUnguarded => Notice::MemprofUnguarded,
            NoticeKind::DomainsMisreported => Notice::DomainsMisreported,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_has_a_code_of_its_own() {
        let became = Untraced::ALL.map(|why| Notice::Became { why, program: "x".into() });
        let unread = Unread::ALL.map(|what| Notice::Unread { what, file: "x".into() });
        let subjects = became.iter().chain(&unread);
        assert!(subjects.clone().all(|notice| notice.code().ends_with(":x")));
        let all = Notice::PLAIN.iter().chain(subjects);
        let mut codes: Vec<_> = all.map(Notice::plain_code).collect();
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.len(), Notice::PLAIN.len() + became.len() + unread.len());
        assert!(NoticeKind::ALL.iter().all(|&kind| Notice::PLAIN.contains(&Notice::from(kind))));
    }
}
