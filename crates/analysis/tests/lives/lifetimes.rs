//! Ages, collections and temporary blocks, against their definitions.

use std::collections::HashMap;

use lifetrace_analysis::Weight;
use lifetrace_analysis::filter::Micros;
use lifetrace_analysis::lifetimes::{Lifetime, Lifetimes};
use lifetrace_analysis::statistics::{Mass, Survival, Unit};
use lifetrace_analysis::temporary::Temporary;
use proptest::prelude::*;

use crate::program::{Block, Book, Program, number, replay, sites};

fn program() -> impl Strategy<Value = Program> {
    let block = (0u64..10_000, prop::option::of(0u64..8_000), 1u64..100, 1u64..5);
    let blocks = prop::collection::vec(block, 0..60);
    let cycles = prop::collection::vec((0u64..10_000, any::<bool>()), 0..20);
    (blocks, cycles).prop_map(|(blocks, mut cycles)| {
        cycles.sort_unstable();
        let block = |(born, age, words, site): (u64, Option<u64>, u64, u64)| {
            let died = age.map(|age| born + age).filter(|&died| died < 10_000);
            Block { born, died, words, site }
        };
        Program { blocks: blocks.into_iter().map(block).collect(), cycles, end: 10_000 }
    })
}

/// Collections that begin after the birth, up to the death.
fn collections(program: &Program, block: &Block, is_major: bool) -> u64 {
    let end = block.died.unwrap_or(program.end);
    let within =
        |cycle: &&(u64, bool)| cycle.1 == is_major && block.born < cycle.0 && cycle.0 <= end;
    program.cycles.iter().filter(within).count() as u64
}

fn naive(program: &Program) -> HashMap<u64, Lifetime> {
    let mut lifetimes: HashMap<u64, Lifetime> = HashMap::new();
    for block in &program.blocks {
        let mass = Mass::of_block(&Weight::ONE.tally(8 * block.words).amount());
        let take = if block.died.is_some() { Survival::died } else { Survival::survived };
        let lifetime = lifetimes.entry(block.site).or_default();
        let age = block.died.unwrap_or(program.end) - block.born;
        take(&mut lifetime.time, age, &mass);
        take(&mut lifetime.minor, collections(program, block, false), &mass);
        take(&mut lifetime.major, collections(program, block, true), &mass);
    }
    lifetimes
}

proptest! {
    #[test]
    fn lifetimes_are_ages_and_collections(program in program()) {
        let book = Book::new();
        let tree = replay(&program, 1.0, 0, &mut ());
        let sites = sites(&tree, &book);
        let mut observed = Lifetimes::new(&sites);
        replay(&program, 1.0, 0, &mut observed);
        let found = observed.finish();
        let count = |is_major| program.cycles.iter().filter(|cycle| cycle.1 == is_major).count();
        prop_assert_eq!(found.collections.minor, count(false) as u64);
        prop_assert_eq!(found.collections.major, count(true) as u64);
        let by_number = found.sites.iter().map(|(&site, it)| (number(&sites, site), it.clone()));
        prop_assert_eq!(by_number.collect::<HashMap<_, _>>(), naive(&program));
        let all = found.all();
        let blocks = all.time.deaths().total().blocks() + all.time.survivors().total().blocks();
        prop_assert_eq!(blocks, program.blocks.len() as u64);
        prop_assert_eq!(all.unit() == Unit::Objects, blocks > 0);
    }

    #[test]
    fn what_is_temporary_lived_shorter(program in program(), below in 1u64..9_000) {
        let book = Book::new();
        let mut observed = Temporary::new(Micros::new(below).unwrap());
        let tree = replay(&program, 1.0, 0, &mut observed);
        let sites = sites(&tree, &book);
        let mut found = HashMap::new();
        for (node, balance) in observed.balances() {
            let amount = balance.allocated.amount();
            prop_assert!(balance.live.is_empty() && balance.peak.is_empty());
            let lived = (balance.lives.byte_seconds.value * 1e6).round();
            let site = number(&sites, sites.of(node).unwrap());
            found.insert(site, (amount.samples, amount.bytes.value, lived));
        }
        let mut expected: HashMap<u64, (u64, f64, f64)> = HashMap::new();
        for block in &program.blocks {
            let Some(age) = block.died.map(|died| died - block.born).filter(|&age| age < below)
            else { continue };
            let sums = expected.entry(block.site).or_default();
            let bytes = 8.0 * block.words as f64;
            *sums = (sums.0 + 1, sums.1 + bytes, sums.2 + bytes * age as f64);
        }
        prop_assert_eq!(found, expected);
    }
}
