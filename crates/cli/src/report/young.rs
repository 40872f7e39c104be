//! What of a collected heap is young: nobody knows yet how much of it is dead.

use lifetrace_analysis::{Amount, Sampling, Summary};

use crate::human;

/// A smaller part is not worth a sentence.
const LEAST_SHARE: f64 = 0.01;

/// Of the peak and of what lives at the end.
pub fn of_both(summary: &Summary) -> Option<String> {
    sentence([peak(summary), end(summary)])
}

/// Of the peak.
pub fn at_peak(summary: &Summary) -> Option<String> {
    sentence([peak(summary)])
}

/// Of what lives at the end.
pub fn at_end(summary: &Summary) -> Option<String> {
    sentence([end(summary)])
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

fn sentence(parts: impl IntoIterator<Item = Option<String>>) -> Option<String> {
    let parts: Vec<_> = parts.into_iter().flatten().collect();
    let told = parts.join("; ").strip_prefix('o')?.to_owned();
    Some(format!("O{told}: no collection has met it, so much of it may be dead."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_parts_are_one_sentence() {
        let part = |text: &str| Some(text.to_owned());
        let both =
            sentence([part("of a, 1 B (2.0 %) is young"), part("of b, 2 B (9.0 %) is young")]);
        let expected = "Of a, 1 B (2.0 %) is young; of b, 2 B (9.0 %) is young: no collection has met it, so \
                        much of it may be dead.";
        assert_eq!(both.as_deref(), Some(expected));
        assert_eq!(sentence([None, part("of b")]).as_deref().map(|it| &it[..5]), Some("Of b:"));
        assert_eq!(sentence([None, None]), None);
    }
}
