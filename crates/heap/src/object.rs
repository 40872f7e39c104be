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
    /// By the types that the program declares, if it is known which one that is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) r#type: Option<String>,
    /// What it looks like, if that is not known: `hash table`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) looks_like: Option<String>,
    /// What else is known of it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) description: String,
    /// Not of a root.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "hexadecimal")]
    pub(crate) address: Option<u64>,
    /// In which field of the one before, from 0 on, it is referred to; or in which of its own it refers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) field: Option<u32>,
    /// What that field is called.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) field_name: Option<String>,
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
    /// With the field of another one that it is in, or that of its own which is meant.
    pub(crate) fn in_field(self, of: &Opened, holder: BlockId, field: Option<u32>) -> Object {
        let field_name = field.and_then(|field| of.field_name(holder, field)).map(str::to_owned);
        Object { field, field_name, ..self }
    }

    pub(crate) fn new(of: &Opened, id: BlockId) -> Object {
        Object {
            class: of.heap.name(id).to_owned(),
            r#type: of.type_of(id).map(str::to_owned),
            looks_like: of.looks_like(id),
            description: of.description(id),
            address: of.heap.address(id),
            field: None,
            field_name: None,
            outside_bytes: of.heap.shape(id).map_or(0, |shape| shape.outside),
            bytes: of.heap.graph.bytes(id),
            retained_bytes: of.retained.bytes(id),
            retained_objects: of.retained.blocks(id),
            is_root: of.heap.graph.is_root(id),
        }
    }

    /// `String "GET /"`, `hash table`, `root global_tbl`.
    pub(crate) fn name(&self) -> String {
        let class = self.r#type.as_ref().or(self.looks_like.as_ref()).unwrap_or(&self.class);
        match (self.is_root, self.description.as_str()) {
            (true, "") => format!("root {class}"),
            (true, slot) => format!("root {class}: {slot}"),
            (false, "") => class.clone(),
            (false, description) => format!("{class} {description}"),
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
        if let Some(name) = &self.field_name {
            text += &format!(" ({})", human::printable(name));
        }
        text
    }
}
