//! Profiles for pprof.

use std::io::Read;

use lifetrace_pprof::proto::Profile;
use prost::Message;

/// A gzipped profile.
pub fn decoded(packed: &[u8]) -> Profile {
    let mut bytes = Vec::new();
    flate2::read::GzDecoder::new(packed).read_to_end(&mut bytes).unwrap();
    Profile::decode(&bytes[..]).unwrap()
}
