//! Pages that have some of the samples only.

use crate::decoded::Life;
use crate::whole::check_same;
use crate::*;

/// What an estimate is of.
type Figure = fn(&Life) -> f64;

/// Of a trace, with so many samples at most.
fn thinned(name: &str, most: u64) -> (Decoded, Decoded) {
    let study = study(&fixture(name));
    (decode(&study, most), decode(&study, ALL))
}

/// An estimate, and the standard deviation that leaving out samples adds to it.
fn estimate(lives: &[Life], of: impl Fn(&Life) -> f64) -> f64 {
    lives.iter().map(|life| life.weight * of(life)).sum()
}

/// What leaving out samples adds to the standard deviation of an estimate: a sample of weight w stays with w/w', and
/// stands for w' then.
fn deviation(all: &[Life], share: f64, of: impl Fn(&Life) -> f64) -> f64 {
    let variance = |life: &Life| {
        let units = (life.bytes / 8.0).max(1.0);
        let weight = 1.0 / -(units * (-1e-5 * share).ln_1p()).exp_m1();
        let stays = life.weight / weight;
        stays * (1.0 - stays) * (weight * of(life)).powi(2)
    };
    all.iter().map(variance).sum::<f64>().sqrt()
}

#[test]
fn estimates_stay_what_they_are() {
    for (name, most) in
        [("server-1e-5.ctf", 3000), ("listmap-1e-5.ctf", 1000), ("ocamlopt-1e-5.ctf", 500)]
    {
        let (some, all) = thinned(name, most);
        let rate = some.facts()["sources"][0]["rate"].as_f64().unwrap();
        let (some, all) = (some.lives(), all.lives());
        let share = rate / 1e-5;
        assert!(some.len() as u64 <= most && some.len() as u64 > most * 7 / 10, "{}", some.len());
        let figures: [(&str, Figure); 3] = [
            ("bytes", |life| life.bytes),
            ("objects", |_| 1.0),
            ("early", |life| if life.birth < 500_000 { life.bytes } else { 0.0 }),
        ];
        for (what, of) in figures {
            let (found, expected) = (estimate(&some, of), estimate(&all, of));
            let sigma = deviation(&all, share, of);
            assert!(
                (found - expected).abs() <= 4.0 * sigma,
                "{name} {what}: {found} {expected} {sigma}"
            );
            assert!(sigma < 0.2 * expected, "{name} {what}: says nothing, {sigma} of {expected}");
        }
    }
}

#[test]
fn weights_are_those_of_the_rate_that_is_told() {
    let (some, _) = thinned("server-1e-5.ctf", 2000);
    let rate = some.facts()["sources"][0]["rate"].as_f64().unwrap();
    assert!(rate < 0.2e-5);
    for life in some.lives() {
        let expected = 1.0 / (1.0 - (1.0 - rate).powf(life.bytes / 8.0));
        assert!((life.weight / expected - 1.0).abs() < 1e-6, "{} {expected}", life.weight);
    }
    let interval = some.facts()["interval_bytes"].as_f64().unwrap();
    assert!((interval * rate / 8.0 - 1.0).abs() < 1e-9);
}

#[test]
fn what_stays_is_as_it_was() {
    let (some, all) = thinned("listmap-1e-5-v2.1.lt", 2000);
    let facts = some.facts();
    assert_eq!(facts["exact"], false);
    assert_eq!(facts["thinned"]["kept"], some.lives().len() as u64);
    assert_eq!(facts["thinned"]["of"], all.lives().len() as u64);
    assert_eq!(facts["peak"], all.facts()["peak"]);
    // Each is one of all, in their order, but for its weight.
    let unweighted = |lives: Vec<Life>| lives.into_iter().map(|it| Life { weight: 0.0, ..it });
    let mut rest = unweighted(all.lives());
    assert!(unweighted(some.lives()).all(|life| rest.any(|it| it == life)));
    let deaths = |it: &Decoded| it.numbers("change.what").len() as f64;
    let (share, samples) = (deaths(&some) / deaths(&all), some.lives().len() as f64);
    assert!((share / (samples / all.lives().len() as f64) - 1.0).abs() < 0.1);
    assert!(some.numbers("node.parent").len() < all.numbers("node.parent").len());
}

#[test]
fn the_same_trace_gives_the_same_page() {
    let study = study(&fixture("json-1e-5.ctf"));
    let bytes = || Bundle::of(&study, 700).unwrap().bytes().unwrap();
    check_same(&bytes(), &bytes(), "byte");
}
