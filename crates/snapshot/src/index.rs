//! Finding blocks by their addresses.

/// A place that is free.
const FREE: u32 = u32::MAX;

/// Where in a list of addresses each is.
#[derive(Clone, Debug)]
pub struct Index<'a> {
    addresses: &'a [u64],
    /// Places in the list, each at the first free place after that of its address's hash.
    table: Vec<u32>,
    shift: u32,
}

impl<'a> Index<'a> {
    /// Of a list, of whose equal addresses the first counts.
    pub fn of(addresses: &'a [u64]) -> Index<'a> {
        let bits = (addresses.len().max(1) * 2).next_power_of_two().ilog2();
        let mut index = Index { addresses, table: vec![FREE; 1 << bits], shift: 64 - bits };
        for (place, &address) in addresses.iter().enumerate().take(FREE as usize) {
            let at = index.probe(address);
            if index.table[at] == FREE {
                index.table[at] = place as u32;
            }
        }
        index
    }

    /// The place of an address.
    pub fn find(&self, address: u64) -> Option<u32> {
        Some(self.table[self.probe(address)]).filter(|&place| place != FREE)
    }

    /// Where in the table an address is, or would be.
    fn probe(&self, address: u64) -> usize {
        let mut at = (address.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> self.shift) as usize;
        while self.table[at] != FREE && self.addresses[self.table[at] as usize] != address {
            at = (at + 1) & (self.table.len() - 1);
        }
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_found() {
        assert_eq!(Index::of(&[]).find(0), None);
        let addresses: Vec<u64> = (0..5000).map(|at| at * at * 8).chain([64, 0]).collect();
        let index = Index::of(&addresses);
        for at in 0..5000 {
            assert_eq!(index.find(at * at * 8), Some(at as u32));
        }
        assert_eq!(index.find(16), None);
    }
}
