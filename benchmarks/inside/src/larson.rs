//! The workload `larson` (see `../../workloads/larson.c`) in Rust, in a program that may record itself.
//!   larson THREADS GENERATIONS REPLACEMENTS

mod allocator;

use std::sync::mpsc::{self, Sender};
use std::thread;

const SLOTS: usize = 5000;
const SMALLEST: u64 = 8;
const LARGEST: u64 = 1000;

struct Array {
    blocks: Vec<Vec<u8>>,
    random: u64,
    generations: u64,
    replacements: u64,
}

#[allow(clippy::let_unit_value, reason = "without a feature there is nothing to hold")]
fn main() {
    let _recording = allocator::start();
    let mut words = std::env::args().skip(1).map(|word| word.parse::<u64>().expect("a number"));
    let mut word = || words.next().expect("larson THREADS GENERATIONS REPLACEMENTS");
    let (threads, generations, replacements) = (word(), word(), word());
    let (sender, ended) = mpsc::channel();
    for number in 1..=threads {
        let mut array = Array {
            blocks: (0..SLOTS).map(|_| Vec::new()).collect(),
            random: number.wrapping_mul(0x9E37_79B9_7F4A_7C15),
            generations,
            replacements,
        };
        (0..SLOTS).for_each(|slot| array.replace(slot));
        array.hand_on(sender.clone());
    }
    drop(sender);
    drop(ended.iter().collect::<Vec<Array>>());
}

impl Array {
    fn next(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random >> 11
    }

    fn replace(&mut self, slot: usize) {
        // Freed before the next one is allocated, as in C.
        self.blocks[slot] = Vec::new();
        let size = SMALLEST + self.next() % (LARGEST - SMALLEST + 1);
        let mut block = Vec::with_capacity(size as usize);
        block.push(1);
        self.blocks[slot] = block;
    }

    fn hand_on(self, ended: Sender<Array>) {
        thread::spawn(move || self.live(ended));
    }

    fn live(mut self, ended: Sender<Array>) {
        for _ in 0..self.replacements {
            let slot = self.next() as usize % SLOTS;
            self.replace(slot);
        }
        self.generations -= 1;
        if self.generations > 0 {
            self.hand_on(ended);
        } else {
            // The main thread waits for it.
            let _ = ended.send(self);
        }
    }
}
