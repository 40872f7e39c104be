//! The messages of pprof's profile.proto, as far as we write them: github.com/google/pprof, proto/profile.proto.
//!
//! Addresses (`Location`, field 3) are left out, since traces have none. An index is that of a string in the profile's table; 0 is the empty one. Ids begin with 1.

/// The whole file.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Profile {
    #[prost(message, repeated, tag = "1")]
    pub sample_type: Vec<ValueType>,
    #[prost(message, repeated, tag = "2")]
    pub sample: Vec<Sample>,
    #[prost(message, repeated, tag = "3")]
    pub mapping: Vec<Mapping>,
    #[prost(message, repeated, tag = "4")]
    pub location: Vec<Location>,
    #[prost(message, repeated, tag = "5")]
    pub function: Vec<Function>,
    #[prost(string, repeated, tag = "6")]
    pub string_table: Vec<String>,
    /// Since the Unix epoch.
    #[prost(int64, tag = "9")]
    pub time_nanos: i64,
    #[prost(int64, tag = "10")]
    pub duration_nanos: i64,
    #[prost(message, optional, tag = "11")]
    pub period_type: Option<ValueType>,
    #[prost(int64, tag = "12")]
    pub period: i64,
    /// Indices.
    #[prost(int64, repeated, tag = "13")]
    pub comment: Vec<i64>,
    /// Index of a sample type's name.
    #[prost(int64, tag = "14")]
    pub default_sample_type: i64,
}

/// What is counted, and in what; both are indices.
#[derive(Clone, Copy, PartialEq, prost::Message)]
pub struct ValueType {
    #[prost(int64, tag = "1")]
    pub kind: i64,
    #[prost(int64, tag = "2")]
    pub unit: i64,
}

/// A backtrace.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Sample {
    /// Innermost first.
    #[prost(uint64, repeated, tag = "1")]
    pub location_id: Vec<u64>,
    /// One for each sample type.
    #[prost(int64, repeated, tag = "2")]
    pub value: Vec<i64>,
    #[prost(message, repeated, tag = "3")]
    pub label: Vec<Label>,
}

/// What readers may select samples by: a text, or a number.
#[derive(Clone, Copy, PartialEq, prost::Message)]
pub struct Label {
    /// Index.
    #[prost(int64, tag = "1")]
    pub key: i64,
    /// Index.
    #[prost(int64, tag = "2")]
    pub text: i64,
    #[prost(int64, tag = "3")]
    pub num: i64,
    /// Index.
    #[prost(int64, tag = "4")]
    pub num_unit: i64,
}

/// An object file in memory.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Mapping {
    #[prost(uint64, tag = "1")]
    pub id: u64,
    #[prost(uint64, tag = "2")]
    pub memory_start: u64,
    #[prost(uint64, tag = "3")]
    pub memory_limit: u64,
    #[prost(uint64, tag = "4")]
    pub file_offset: u64,
    /// Index.
    #[prost(int64, tag = "5")]
    pub filename: i64,
    /// Index.
    #[prost(int64, tag = "6")]
    pub build_id: i64,
    #[prost(bool, tag = "7")]
    pub has_functions: bool,
    #[prost(bool, tag = "8")]
    pub has_filenames: bool,
    #[prost(bool, tag = "9")]
    pub has_line_numbers: bool,
    #[prost(bool, tag = "10")]
    pub has_inline_frames: bool,
}

/// A frame.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Location {
    #[prost(uint64, tag = "1")]
    pub id: u64,
    /// 0 if it is in none.
    #[prost(uint64, tag = "2")]
    pub mapping_id: u64,
    /// Innermost first: each but the last was inlined into the next.
    #[prost(message, repeated, tag = "4")]
    pub line: Vec<Line>,
}

/// A line of a frame.
#[derive(Clone, Copy, PartialEq, prost::Message)]
pub struct Line {
    #[prost(uint64, tag = "1")]
    pub function_id: u64,
    #[prost(int64, tag = "2")]
    pub line: i64,
    #[prost(int64, tag = "3")]
    pub column: i64,
}

/// A function.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Function {
    #[prost(uint64, tag = "1")]
    pub id: u64,
    /// Index; for people.
    #[prost(int64, tag = "2")]
    pub name: i64,
    /// Index; for linkers.
    #[prost(int64, tag = "3")]
    pub system_name: i64,
    /// Index.
    #[prost(int64, tag = "4")]
    pub filename: i64,
}
