//! What a file of another profiler does not tell. The trace that is made of it says so by labels,
//! whose keys a trace keeps that is cut, filtered or stripped of its names.

/// Who recorded it: the key of a label.
pub const FROM: &str = "imported-from";

/// How blocks were made of sums, likewise.
pub const MADE: &str = "import.blocks";

/// How exactly times are known, likewise.
pub const TIMES: &str = "import.times";

/// Which peak it is, or what else stands for the program's memory, likewise.
pub const PEAK: &str = "import.peak";

/// That frames have no names, likewise.
pub const NAMELESS: &str = "import.nameless";

/// Something that is not told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Lack {
    /// When blocks were born and freed.
    Times,
    /// How long blocks lived.
    Lifetimes,
    /// What lived when the program had most.
    Peak,
    /// How large single blocks are.
    Sizes,
    /// Which thread allocated or freed.
    Threads,
    /// What was ever allocated, whether it lives or not.
    Allocated,
    /// What lives at the end.
    Live,
    /// Numbers of blocks, beside bytes.
    Objects,
    /// How densely blocks were sampled, so that amounts have no intervals.
    Sampling,
}

impl Lack {
    /// All there are.
    pub const ALL: [Self; 9] = [
        Self::Times,
        Self::Lifetimes,
        Self::Peak,
        Self::Sizes,
        Self::Threads,
        Self::Allocated,
        Self::Live,
        Self::Objects,
        Self::Sampling,
    ];

    /// The label's key.
    pub fn key(self) -> &'static str {
        match self {
            Self::Times => "import.lacks.times",
            Self::Lifetimes => "import.lacks.lifetimes",
            Self::Peak => "import.lacks.peak",
            Self::Sizes => "import.lacks.sizes",
            Self::Threads => "import.lacks.threads",
            Self::Allocated => "import.lacks.allocated",
            Self::Live => "import.lacks.live",
            Self::Objects => "import.lacks.objects",
            Self::Sampling => "import.lacks.sampling",
        }
    }

    /// In one word, as `--json` has it.
    pub fn name(self) -> &'static str {
        self.key().rsplit('.').next().unwrap_or_default()
    }

    /// For people.
    pub fn words(self) -> &'static str {
        match self {
            Self::Times => "when blocks were born and freed",
            Self::Lifetimes => "how long single blocks lived",
            Self::Peak => "the peak",
            Self::Sizes => "the sizes of single blocks",
            Self::Threads => "threads",
            Self::Allocated => "all that was ever allocated",
            Self::Live => "what was not freed",
            Self::Objects => "numbers of objects",
            Self::Sampling => "how it was sampled",
        }
    }
}
