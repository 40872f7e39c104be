use std::collections::HashMap;
use std::sync::Mutex;

use lifetrace_agent::random::Random;

use super::*;

/// The table is the process's; tests of it take turns.
static TURN: Mutex<()> = Mutex::new(());

fn block(size: usize) -> Block {
    let mut block = Block::new(size, size);
    assert!(block.attach(Extent { sample: size as u64, first: 0, words: 1, hits: 1, rate: 0.5 }));
    block
}

fn is_known(address: usize) -> bool {
    filter::may_be_sampled(address as *mut u8)
}

/// A naive twin, through growths of the filter and back to nothing.
#[test]
fn the_table_is_a_map() {
    let _turn = TURN.lock().unwrap();
    assert!(crate::arena::prepare());
    clear();
    let mut random = Random::new(1, 1);
    let mut twin: HashMap<usize, usize> = HashMap::new();
    for step in 0..40_000 {
        let address = 0x7000_0000_0000 + (random.word() as usize % 20_000) * 16;
        if step % 3 == 0 {
            let expected = twin.remove(&address);
            match take(address, Patience::Short) {
                Taken::Block(found) => assert_eq!(Some(found.size), expected),
                Taken::None => assert_eq!(None, expected),
                Taken::Busy => panic!("nobody else is here"),
            }
        } else if let std::collections::hash_map::Entry::Vacant(vacant) = twin.entry(address) {
            insert(address, block(step + 1), Patience::Short).unwrap();
            vacant.insert(step + 1);
        }
    }
    assert!(twin.keys().all(|&address| is_known(address)), "a zero is certain");
    assert!(!Mask::in_use().is_full(twin.len()), "the filter has grown with the table");
    let others = (0..100_000usize).filter(|it| is_known(0x5600_0000_0000 + it * 16)).count();
    assert!(others < 100_000 / SPARSITY_TESTED, "{others} of 100,000 other blocks are looked up");
    for (address, size) in twin.drain() {
        assert!(matches!(take(address, Patience::Short), Taken::Block(it) if it.size == size));
    }
    let left = (0..100_000usize).filter(|it| is_known(0x7000_0000_0000 + it * 16)).count();
    assert_eq!(left, 0, "each sample has been taken out of the counters that it was counted in");
}

const SPARSITY_TESTED: usize = filter::SPARSITY;

#[test]
fn what_is_forgotten_is_gone() {
    let _turn = TURN.lock().unwrap();
    assert!(crate::arena::prepare());
    for forget in [clear, abandon] {
        for place in 0..1000 {
            insert(0x1000 + place * 32, block(8), Patience::Short).unwrap();
        }
        forget();
        assert!((0..1000).all(|place| !is_known(0x1000 + place * 32)));
        assert!(matches!(take(0x1000, Patience::Short), Taken::None));
    }
}

#[test]
fn threads_find_what_is_theirs() {
    let _turn = TURN.lock().unwrap();
    assert!(crate::arena::prepare());
    clear();
    std::thread::scope(|scope| {
        for thread in 0..4usize {
            scope.spawn(move || {
                let address = |place: usize| (place * 4 + thread) * 16 + 0x4000_0000;
                for round in 0..20 {
                    (0..500).for_each(|it| {
                        insert(address(it), block(it + round + 1), Patience::Short).unwrap()
                    });
                    for it in 0..500 {
                        assert!(is_known(address(it)));
                        let taken = take(address(it), Patience::Short);
                        assert!(
                            matches!(taken, Taken::Block(found) if found.size == it + round + 1)
                        );
                    }
                }
            });
        }
    });
    assert_eq!(SAMPLES.load(Ordering::Relaxed), 0);
}
