//! What of a collected heap is young: nobody knows yet how much of it is dead.

use lifetrace_analysis::{Amount, Sampling, Summary};
use lifetrace_human as human;

/// A smaller part is not worth a sentence.
const LEAST_SHARE: f64 = 0.01;

/// What is known of a program's young heap.
#[derive(Clone, Copy, Debug, Default)]
pub struct Young {
    /// The bytes that it has room for, if they are known.
    pub room: Option<u64>,
    /// How much of it may be dead, if the runtime is known.
    pub fate: Option<&'static str>,
}

/// Of the peak and of what lives at the end.
pub fn of_both(summary: &Summary, young: Young) -> Option<String> {
    sentences([peak(summary), end(summary)], young)
}

/// Of the peak.
pub fn at_peak(summary: &Summary, young: Young) -> Option<String> {
    sentences([peak(summary)], young)
}

/// Of what lives at the end.
pub fn at_end(summary: &Summary, young: Young) -> Option<String> {
    sentences([end(summary)], young)
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

fn sentences(parts: impl IntoIterator<Item = Option<String>>, young: Young) -> Option<String> {
    let parts: Vec<_> = parts.into_iter().flatten().collect();
    let told = parts.join("; ").strip_prefix('o')?.to_owned();
    let fate = young.fate.unwrap_or("no collection has promoted it, so some of it may be dead");
    let room = young
        .room
        .map(|bytes| format!(" A young heap has room for up to {}.", human::bytes(bytes as f64)));
    let room = room.unwrap_or_default();
    Some(format!("O{told}: {fate}.{room}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_parts_are_one_sentence() {
        let part = |text: &str| Some(text.to_owned());
        let fate = Some("no collection has met it, so much of it may be dead");
        let young = |room| Young { room, fate };
        let both = sentences(
            [part("of a, 1 B (2.0 %) is young"), part("of b, 2 B (9.0 %) is young")],
            young(None),
        );
        let expected = "Of a, 1 B (2.0 %) is young; of b, 2 B (9.0 %) is young: no collection has met it, so \
                        much of it may be dead.";
        assert_eq!(both.as_deref(), Some(expected));
        let one = sentences([None, part("of b")], young(Some(256 << 20))).unwrap();
        let (first, last) =
            ("Of b: no collection", "dead. A young heap has room for up to 256 MiB.");
        assert!(one.starts_with(first) && one.ends_with(last), "{one}");
        assert_eq!(sentences([None, None], young(Some(1))), None);
    }
}
