//! Which of a sample's values are bytes and objects, allocated and alive.

use super::super::points::Amount;

/// Indices of values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Columns {
    allocated: Pair,
    live: Pair,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Pair {
    bytes: Option<usize>,
    objects: Option<usize>,
}

/// What writers call them.
const ALLOCATED_BYTES: &[&str] = &["alloc_space", "allocated_size", "alloc-space", "alloc_bytes"];
const ALLOCATED_OBJECTS: &[&str] = &["alloc_objects", "allocated_objects", "alloc-samples"];
const LIVE_BYTES: &[&str] =
    &["inuse_space", "space", "retained_size", "heap-space", "live_space", "inuse_bytes"];
const LIVE_OBJECTS: &[&str] = &["inuse_objects", "objects", "retained_objects", "live_objects"];

impl Columns {
    /// By the names of what was counted.
    ///
    /// # Errors
    /// If it is not memory; the message says what it is.
    pub fn find(types: &[(String, String)]) -> Result<Self, String> {
        let find = |names: &[&str]| types.iter().position(|(name, _)| names.contains(&&**name));
        let allocated = Pair { bytes: find(ALLOCATED_BYTES), objects: find(ALLOCATED_OBJECTS) };
        let live = Pair { bytes: find(LIVE_BYTES), objects: find(LIVE_OBJECTS) };
        if allocated.bytes.is_some() || live.bytes.is_some() {
            return Ok(Self { allocated, live });
        }
        let found: Vec<_> = types.iter().map(|(name, unit)| format!("{name}/{unit}")).collect();
        let found = if found.is_empty() { "nothing".to_owned() } else { found.join(", ") };
        Err(format!(
            "expected a heap profile, which counts alloc_space or inuse_space; found {found}"
        ))
    }

    /// Whether objects are counted wherever bytes are.
    pub fn has_objects(&self) -> bool {
        let has = |pair: &Pair| pair.bytes.is_none() || pair.objects.is_some();
        has(&self.allocated) && has(&self.live)
    }

    /// What was allocated, which is at least what lives, and what lives.
    pub fn amounts(&self, values: &[u64]) -> (Amount, Amount) {
        let live = self.live.amount(values);
        let allocated = self.allocated.amount(values);
        let allocated = Amount {
            bytes: allocated.bytes.max(live.bytes),
            blocks: allocated.blocks.max(live.blocks),
        };
        (allocated, live)
    }
}

impl Pair {
    /// Values are signed; a difference of two profiles may be negative, which no memory is.
    fn amount(self, values: &[u64]) -> Amount {
        let value = |index: Option<usize>| {
            let value = index.and_then(|index| values.get(index)).copied().unwrap_or(0);
            i64::try_from(value).unwrap_or(0) as u64
        };
        let bytes = value(self.bytes);
        let blocks = match self.objects {
            Some(_) => value(self.objects),
            None => u64::from(bytes > 0),
        };
        Amount { bytes, blocks }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns(names: &[&str]) -> Result<Columns, String> {
        let types: Vec<_> = names.iter().map(|name| (name.to_string(), "x".to_owned())).collect();
        Columns::find(&types)
    }

    #[test]
    fn columns_go_by_their_names() {
        let go =
            columns(&["alloc_objects", "alloc_space", "inuse_objects", "inuse_space"]).unwrap();
        assert!(go.has_objects());
        let amount = |bytes, blocks| Amount { bytes, blocks };
        assert_eq!(go.amounts(&[10, 1000, 3, 300]), (amount(1000, 10), amount(300, 3)));
        assert_eq!(go.amounts(&[10, 1000]), (amount(1000, 10), amount(0, 0)));
        assert_eq!(go.amounts(&[u64::MAX, u64::MAX, 0, 5]), (amount(5, 0), amount(5, 0)));
        let old = columns(&["objects", "space"]).unwrap();
        assert_eq!(old.amounts(&[3, 300]), (amount(300, 3), amount(300, 3)));
        let bytes = columns(&["space"]).unwrap();
        assert!(!bytes.has_objects());
        assert_eq!(bytes.amounts(&[300]), (amount(300, 1), amount(300, 1)));
        let other = columns(&["samples", "cpu"]).unwrap_err();
        assert!(other.contains("samples/x, cpu/x"), "{other}");
    }
}
