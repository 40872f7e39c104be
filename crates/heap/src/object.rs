//! An object, as documents and pages have it.

use lifetrace_human as human;
use lifetrace_snapshot::graph::BlockId;
use serde::{Serialize, Serializer};

use crate::opened::Opened;

/// An object, or a root.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Object {
    /// What its class, or the root, is called.
    pub(crate) class: String,
    /// What else is known of it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) description: String,
    /// Not of a root.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "hexadecimal")]
    pub(crate) address: Option<u64>,
    pub(crate) bytes: u64,
    pub(crate) retained_bytes: u64,
    /// Itself included.
    pub(crate) retained_objects: u32,
    #[serde(skip)]
    pub(crate) is_root: bool,
}

fn hexadecimal<S: Serializer>(address: &Option<u64>, to: S) -> Result<S::Ok, S::Error> {
    address.map(|address| format!("{address:#x}")).serialize(to)
}

impl Object {
    pub(crate) fn new(of: &Opened, id: BlockId) -> Object {
        Object {
            class: of.heap.name(id).to_owned(),
            description: of.description(id),
            address: of.heap.address(id),
            bytes: of.heap.graph.bytes(id),
            retained_bytes: of.retained.bytes(id),
            retained_objects: of.retained.blocks(id),
            is_root: of.heap.graph.is_root(id),
        }
    }

    /// `String "GET /"`, `root global_tbl`.
    pub(crate) fn name(&self) -> String {
        match (self.is_root, self.description.as_str()) {
            (true, _) => format!("root {}", self.class),
            (false, "") => self.class.clone(),
            (false, description) => format!("{} {description}", self.class),
        }
    }

    /// `0x7fd987de81a0, 40 B`; nothing of a root.
    pub(crate) fn place(&self) -> String {
        let bytes = human::bytes(self.bytes as f64);
        self.address.map_or(String::new(), |address| format!("{address:#x}, {bytes}"))
    }
}
