//! What a user should know of a trace beside its events: from the agent, or found out here.

use lifetrace_transport::message::NoticeKind;

/// See the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notice {
    /// The program has an allocator in itself that is not heard.
    OwnAllocator,
    /// The process had much more memory of its own than was heard of.
    UnheardMemory,
    /// No memory for the region of sampled blocks.
    NoRegion,
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
}

impl Notice {
    /// All of them.
    pub const ALL: [Notice; 11] = [
        Notice::OwnAllocator,
        Notice::UnheardMemory,
        Notice::NoRegion,
        Notice::UnknownOCaml,
        Notice::Memtrace,
        Notice::OwnMemprof,
        Notice::MemprofUnguarded,
        Notice::DomainsMisreported,
        Notice::Bytecode,
        Notice::HiddenOCaml,
        Notice::NoOCaml,
    ];

    /// As traces have it.
    pub fn code(self) -> &'static str {
        match self {
            Notice::OwnAllocator => "own-allocator",
            Notice::UnheardMemory => "unheard-memory",
            Notice::NoRegion => "no-region",
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
            NoticeKind::NoRegion => Notice::NoRegion,
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
        let mut codes: Vec<_> = Notice::ALL.map(Notice::code).into();
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.len(), Notice::ALL.len());
        assert!(NoticeKind::ALL.iter().all(|&kind| Notice::ALL.contains(&Notice::from(kind))));
    }
}
