//! What a draw costs: `draws HOW PROBABILITY DRAWS` prints nanoseconds of processor time per draw,
//! for `cargo xtask bench draws`, which also counts its instructions.
//!
//! All draw from the same generator. `table` is this crate; `libm` the inversion with libm's
//! logarithm, as it is usually written; `rand_distr` what its `Geometric` does.

use std::convert::Infallible;
use std::hint::black_box;

use lifetrace_sampler::{Random, Rate};
use rand_distr::Distribution;

/// The generator, as rand knows it.
struct Generator(Random);

impl rand_core::TryRng for Generator {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok((self.0.word() >> 32) as u32)
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(self.0.word())
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        for chunk in bytes.chunks_mut(8) {
            chunk.copy_from_slice(&self.0.word().to_le_bytes()[..chunk.len()]);
        }
        Ok(())
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [how, probability, draws] = &words[..] else {
        return Err("usage: draws table|libm|rand_distr PROBABILITY DRAWS".into());
    };
    let (probability, draws) = (probability.parse()?, draws.parse()?);
    let mut random = Random::new(1, 0);
    match how.as_str() {
        "table" => {
            let rate = Rate::per_word(probability);
            report(draws, || rate.gap(&mut random));
        }
        "libm" => {
            let scale = libm::log1p(-probability).recip();
            report(draws, || (libm::log(random.unit()) * scale) as u64);
        }
        "rand_distr" => {
            let (geometric, mut random) = (
                rand_distr::Geometric::new(probability).map_err(|it| it.to_string())?,
                Generator(random),
            );
            report(draws, || geometric.sample(&mut random));
        }
        _ => return Err(format!("{how}: neither table nor libm nor rand_distr").into()),
    }
    Ok(())
}

fn report(draws: u64, mut draw: impl FnMut() -> u64) {
    let before = nanoseconds();
    for _ in 0..draws {
        black_box(draw());
    }
    println!("{:.3}", (nanoseconds() - before) as f64 / draws as f64);
}

/// That this process has had of a processor.
fn nanoseconds() -> u64 {
    let text = std::fs::read_to_string("/proc/self/schedstat").expect("Linux tells it");
    text.split(' ').next().and_then(|it| it.parse().ok()).expect("a number comes first")
}
