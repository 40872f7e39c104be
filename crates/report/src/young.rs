//! What of a collected heap is young: nobody knows yet how much of it is dead.

use lifetrace_analysis::{Amount, Sampling, Summary};
use lifetrace_human as human;

/// A smaller part is not worth a sentence.
const LEAST_SHARE: f64 = 0.01;

/// The bytes that the young heap has room for, if they are known.
pub type Room = Option<u64>;

/// Of the peak and of what lives at the end.
pub fn of_both(summary: &Summary, room: Room) -> Option<String> {
    sentences([peak(summary), end(summary)], room)
}

/// Of the peak.
pub fn at_peak(summary: &Summary, room: Room) -> Option<String> {
    sentences([peak(summary)], room)
}

/// Of what lives at the end.
pub fn at_end(summary: &Summary, room: Room) -> Option<String> {
    sentences([end(summary)], room)
}

fn peak(summary: &Summary) -> Option<String> {
    let peak = &summary.peak;
    part("lived at the peak", &peak.young, &peak.amount, &summary.sampling)
}

fn end(summary: &Summary) -> Option<String> {
    part("lives at the end", &summary.young, &summary.live, &summary.sampling)
}

/// Nothing if that is little.
fn part(what: &str, young: &Amount, all: &Amount, sampling: &Sampling) -> Option<String> {
    let share = young.bytes.value / all.bytes.value;
    (share >= LEAST_SHARE).then(|| {
        let amount = human::amount(young, sampling);
        format!("of what {what}, {amount} ({}) is young", human::percent(share))
    })
}

fn sentences(parts: impl IntoIterator<Item = Option<String>>, room: Room) -> Option<String> {
    let parts: Vec<_> = parts.into_iter().flatten().collect();
    let told = parts.join("; ").strip_prefix('o')?.to_owned();
    let room = room
        .map(|bytes| format!(" A young heap has room for up to {}.", human::bytes(bytes as f64)));
    let room = room.unwrap_or_default();
    Some(format!("O{told}: no collection has met it, so much of it may be dead.{room}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_parts_are_one_sentence() {
        let part = |text: &str| Some(text.to_owned());
        let both = sentences(
            [part("of a, 1 B (2.0 %) is young"), part("of b, 2 B (9.0 %) is young")],
            None,
        );
        let expected = "Of a, 1 B (2.0 %) is young; of b, 2 B (9.0 %) is young: no collection has met it, so \
                        much of it may be dead.";
        assert_eq!(both.as_deref(), Some(expected));
        let one = sentences([None, part("of b")], Some(256 << 20)).unwrap();
        let (first, last) =
            ("Of b: no collection", "dead. A young heap has room for up to 256 MiB.");
        assert!(one.starts_with(first) && one.ends_with(last), "{one}");
        assert_eq!(sentences([None, None], Some(1)), None);
    }
}
