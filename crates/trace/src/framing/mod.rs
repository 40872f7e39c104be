//! What our formats have in common: files of packets, each with a mark, a length and a checksum, so that what is intact is
//! found again after damage; and the plain fields in them.

pub(crate) mod fault;
pub(crate) mod output;
pub(crate) mod packet;
pub(crate) mod scan;
pub(crate) mod varint;
