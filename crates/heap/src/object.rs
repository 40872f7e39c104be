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
    /// In which field of the one before, from 0 on, it is referred to; or in which of its own it refers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) field: Option<u32>,
    pub(crate) bytes: u64,
    /// What it takes elsewhere.
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) outside_bytes: u64,
    pub(crate) retained_bytes: u64,
    /// Itself included.
    pub(crate) retained_objects: u32,
    #[serde(skip)]
    pub(crate) is_root: bool,
}

fn hexadecimal<S: Serializer>(address: &Option<u64>, to: S) -> Result<S::Ok, S::Error> {
    address.map(|address| format!("{address:#x}")).serialize(to)
}

fn is_zero(bytes: &u64) -> bool {
    *bytes == 0
}

impl Object {
    pub(crate) fn new(of: &Opened, id: BlockId) -> Object {
        Object {
            class: of.heap.name(id).to_owned(),
            description: of.description(id),
            address: of.heap.address(id),
            field: None,
            outside_bytes: of.heap.shape(id).map_or(0, |shape| shape.outside),
            bytes: of.heap.graph.bytes(id),
            retained_bytes: of.retained.bytes(id),
            retained_objects: of.retained.blocks(id),
            is_root: of.heap.graph.is_root(id),
        }
    }

    /// `String "GET /"`, `root global_tbl`.
    pub(crate) fn name(&self) -> String {
        match (self.is_root, self.description.as_str()) {
            (true, "") => format!("root {}", self.class),
            (true, slot) => format!("root {}: {slot}", self.class),
            (false, "") => self.class.clone(),
            (false, description) => format!("{} {description}", self.class),
        }
    }

    /// `0x7fd987de81a0, 40 B`; nothing of a root.
    pub(crate) fn place(&self) -> String {
        let Some(address) = self.address else { return String::new() };
        let mut text = format!("{address:#x}, {}", human::bytes(self.bytes as f64));
        if self.outside_bytes > 0 {
            text += &format!(" and {} elsewhere", human::bytes(self.outside_bytes as f64));
        }
        if let Some(field) = self.field {
            text += &format!(", field {field}");
        }
        text
    }
}
