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
/// Where this is told, what was allocated is told in other terms: slots, without what objects have elsewhere.
const RETAINED_BYTES: &str = "retained_size";
const LIVE_OBJECTS: &[&str] = &["inuse_objects", "objects", "retained_objects", "live_objects"];

/// Whether a period so called is one of bytes.
pub fn is_of_bytes(name: &str) -> bool {
    ALLOCATED_BYTES.contains(&name) || LIVE_BYTES.contains(&name)
}

impl Columns {
    /// By the names of what was counted.
    ///
    /// # Errors
    /// If it is not memory; the message says what it is.
    pub fn find(types: &[(String, String)]) -> Result<Self, String> {
        let find = |names: &[&str]| types.iter().position(|(name, _)| names.contains(&&**name));
        let allocated = match find(&[RETAINED_BYTES]) {
            Some(_) => Pair::default(),
            None => Pair { bytes: find(ALLOCATED_BYTES), objects: find(ALLOCATED_OBJECTS) },
        };
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

    /// Only what is an amount of memory in all samples. In a difference of two profiles (`pprof
    /// -diff_base`, Go's `?seconds=N`, Parca, Pyroscope) what lives may have become less, or more
    /// than was allocated; the remark says so.
    ///
    /// # Errors
    /// If nothing is left.
    pub fn without_differences<'a>(
        self,
        samples: impl Iterator<Item = &'a [u64]> + Clone,
    ) -> Result<(Self, Option<String>), String> {
        let [allocated, live] =
            [self.allocated, self.live].map(|pair| Negative::of(pair, samples.clone()));
        let known = Self {
            allocated: if allocated.samples > 0 { Pair::default() } else { self.allocated },
            live: if live.samples > 0 { Pair::default() } else { self.live },
        };
        let negative = [("allocated", allocated), ("alive", live)];
        let negative = negative.into_iter().filter(|(_, it)| it.samples > 0);
        let said: Vec<_> = negative.map(|(what, it)| it.remark(what)).collect();
        if known.is_empty() {
            return Err(format!(
                "this is a difference of two profiles: {}\n  \
                 import the two, and compare them: lifetrace diff BEFORE.lt AFTER.lt",
                said.join("; ")
            ));
        }
        if !said.is_empty() {
            return Ok((known, Some(format!("{}: that is left out", said.join("; ")))));
        }
        Ok(known.without_excess(samples))
    }

    /// What lives was allocated; where it was not, what was allocated is that of a span of time only,
    /// and what lives is not of the same one, or a difference.
    fn without_excess<'a>(
        self,
        samples: impl Iterator<Item = &'a [u64]>,
    ) -> (Self, Option<String>) {
        if !self.tells_allocated() || !self.tells_live() {
            return (self, None);
        }
        let exceeds = |values: &&[u64]| {
            let [all, live] = [self.allocated, self.live].map(|pair| pair.amount(values).bytes);
            live > all.saturating_add(all / 100 + ROUNDING)
        };
        match samples.filter(exceeds).count() {
            0 => (self, None),
            count => {
                let remark = format!(
                    "in {} samples more is alive than was allocated, so this is a difference of two \
                     profiles, or of a span of time: what was alive is left out",
                    super::super::count(count as u64)
                );
                (Self { live: Pair::default(), ..self }, Some(remark))
            }
        }
    }

    fn is_empty(self) -> bool {
        !self.tells_allocated() && !self.tells_live()
    }

    /// Whether what was allocated is counted.
    pub fn tells_allocated(&self) -> bool {
        self.allocated.bytes.is_some()
    }

    /// Whether what lives is.
    pub fn tells_live(&self) -> bool {
        self.live.bytes.is_some()
    }

    /// Whether objects are counted wherever bytes are.
    pub fn has_objects(&self) -> bool {
        let has = |pair: &Pair| pair.bytes.is_none() || pair.objects.is_some();
        has(&self.allocated) && has(&self.live)
    }

    /// What was allocated, which is at least what lives, and what lives.
    pub fn amounts(&self, values: &[u64]) -> (Amount, Amount) {
        let has_objects = self.has_objects();
        let amount = |pair: Pair| {
            let Amount { bytes, blocks } = pair.amount(values);
            Amount { bytes, blocks: if has_objects { blocks } else { u64::from(bytes > 0) } }
        };
        let (allocated, live) = (amount(self.allocated), amount(self.live));
        let allocated = Amount {
            bytes: allocated.bytes.max(live.bytes),
            blocks: allocated.blocks.max(live.blocks),
        };
        (allocated, live)
    }
}

/// By so many bytes rounding may differ.
const ROUNDING: u64 = 64;

/// What is less than nothing.
#[derive(Clone, Copy, Debug, Default)]
struct Negative {
    samples: u64,
    /// Of so many.
    all: u64,
    bytes: u64,
}

impl Negative {
    fn of<'a>(pair: Pair, samples: impl Iterator<Item = &'a [u64]>) -> Self {
        let mut negative = Self::default();
        for values in samples {
            negative.all += 1;
            let value = |index: Option<usize>| {
                index.and_then(|index| values.get(index)).map_or(0, |value| *value as i64)
            };
            let (bytes, objects) = (value(pair.bytes), value(pair.objects));
            if pair.bytes.is_some() && (bytes < 0 || objects < 0) {
                negative.samples += 1;
                let less = bytes.min(0).unsigned_abs();
                negative.bytes = negative.bytes.saturating_add(less);
            }
        }
        negative
    }

    fn remark(self, what: &str) -> String {
        let [samples, all, bytes] = [self.samples, self.all, self.bytes].map(super::super::count);
        format!("in {samples} of {all} samples less than nothing was {what} ({bytes} bytes less)")
    }
}

impl Pair {
    fn amount(self, values: &[u64]) -> Amount {
        let value = |index: Option<usize>| {
            let value = index.and_then(|index| values.get(index)).copied().unwrap_or(0);
            u64::try_from(value as i64).unwrap_or(0)
        };
        Amount { bytes: value(self.bytes), blocks: value(self.objects) }
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
    fn what_is_retained_is_not_compared_with_slots() {
        let gems = columns(&["alloc_objects", "alloc_space", "retained_objects", "retained_size"])
            .unwrap();
        assert!(gems.tells_live() && !gems.tells_allocated());
        let (known, remark) =
            gems.without_differences([&[9, 90, 2, 5_000][..]].into_iter()).unwrap();
        assert_eq!((known, remark), (gems, None));
    }

    #[test]
    fn columns_go_by_their_names() {
        let go =
            columns(&["alloc_objects", "alloc_space", "inuse_objects", "inuse_space"]).unwrap();
        assert!(go.has_objects());
        let amount = |bytes, blocks| Amount { bytes, blocks };
        assert_eq!(go.amounts(&[10, 1000, 3, 300]), (amount(1000, 10), amount(300, 3)));
        assert_eq!(go.amounts(&[10, 1000]), (amount(1000, 10), amount(0, 0)));
        let old = columns(&["objects", "space"]).unwrap();
        assert_eq!(old.amounts(&[3, 300]), (amount(300, 3), amount(300, 3)));
        let bytes = columns(&["space"]).unwrap();
        assert!(!bytes.has_objects());
        assert_eq!(bytes.amounts(&[300]), (amount(300, 1), amount(300, 1)));
        let other = columns(&["samples", "cpu"]).unwrap_err();
        assert!(other.contains("samples/x, cpu/x"), "{other}");
    }

    #[test]
    fn differences_are_no_amounts() {
        let go =
            columns(&["alloc_objects", "alloc_space", "inuse_objects", "inuse_space"]).unwrap();
        let negative = |value: i64| value as u64;
        let settle = |samples: &[&[u64]]| go.without_differences(samples.iter().copied());
        let (same, remark) = settle(&[&[10, 1000, 3, 300], &[1, 50, 1, 80]]).unwrap();
        assert_eq!((same, remark), (go, None));
        let less = &[0, 0, negative(-8), negative(-8000)];
        let (known, remark) = settle(&[&[10, 1000, 3, 300], less]).unwrap();
        assert!(known.tells_allocated() && !known.tells_live());
        assert!(
            remark.unwrap().contains("in 1 of 2 samples less than nothing was alive (8,000 bytes")
        );
        let (known, _) = settle(&[&[1, 1000, 5, 5000]]).unwrap();
        assert!(known.tells_allocated() && !known.tells_live());
        let refusal = settle(&[&[negative(-1), negative(-9), 0, 0], less]).unwrap_err();
        assert!(refusal.contains("lifetrace diff BEFORE.lt AFTER.lt"), "{refusal}");
    }
}
