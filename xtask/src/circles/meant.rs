//! Circles that are meant.

/// A circle that is none to be opened.
pub(super) struct Meant {
    /// The crate's folder.
    pub(super) of: &'static str,
    /// All files of the circle, from `src` on.
    pub(super) files: &'static [&'static str],
    /// Why they are in a circle.
    #[expect(dead_code, reason = "for those who read")]
    pub(super) why: &'static str,
}

/// Each with its reason.
pub(super) const MEANT: &[Meant] = &[
    Meant {
        of: "crates/agent",
        files: &["guard.rs", "phase.rs"],
        why: "who enters asks for the phase, and a session that begins has the guard told of ends of threads",
    },
    Meant {
        of: "crates/analysis",
        files: &["filter/presets.rs", "filter/term.rs"],
        why: "a preset is a term, and stands for several",
    },
    Meant {
        of: "crates/native",
        files: &["boot.rs", "next.rs"],
        why: "the table of what is next begins with stand-ins, which call what is next",
    },
    Meant {
        of: "crates/native",
        files: &[
            "blocks.rs",
            "cxx.rs",
            "families/hooks.rs",
            "families/mod.rs",
            "interpose.rs",
            "patch/island.rs",
            "patch/mod.rs",
            "patch/quiet.rs",
            "sandbox.rs",
            "start.rs",
        ],
        why: "the first block of all starts the agent, by whichever hook it comes, and the start puts hooks in place",
    },
    Meant {
        of: "crates/ocaml",
        files: &["memprof/births.rs", "thunks/mod.rs"],
        why: "where the program's stack has no room, a sample goes by a thunk to the agent's own, and from there back",
    },
];
