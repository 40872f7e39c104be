//! What may have been meant by a word that means nothing.

/// Other programs' words for what we call otherwise. Where a word stands for several things, it means
/// the first that may stand there.
const SYNONYMS: [(&str, &str); 35] = [
    ("age", "lifetime"),
    ("allocations", "objects"),
    ("blocks", "objects"),
    ("born", "allocated"),
    ("bytes", "size"),
    ("callsite", "innermost"),
    ("collected", "freed"),
    ("count", "objects"),
    ("dead", "freed"),
    ("deallocated", "freed"),
    ("died", "freed"),
    ("frame", "fn"),
    ("func", "fn"),
    ("function", "fn"),
    ("heap", "source"),
    ("heap", "live"),
    ("leaf", "innermost"),
    ("leaked", "leaks"),
    ("leaks", "leaked"),
    ("library", "module"),
    ("longlived", "long-lived"),
    ("malloc", "native"),
    ("malloced", "allocated"),
    ("max", "peak"),
    ("method", "fn"),
    ("never", "not"),
    ("never-freed", "leaks"),
    ("path", "file"),
    ("short-lived", "temporary"),
    ("slope", "growth"),
    ("survived", "leaks"),
    ("symbol", "fn"),
    ("tid", "thread"),
    ("total", "allocated"),
    ("type", "class"),
];

/// The candidate that was most likely meant; none if none is near.
pub(crate) fn meant(
    word: &str,
    candidates: impl Iterator<Item = &'static str>,
) -> Option<&'static str> {
    let word = word.to_lowercase();
    let candidates: Vec<_> = candidates.collect();
    let is_meant = |&&(other, ours): &&(&str, &str)| other == word && candidates.contains(&ours);
    let synonym = SYNONYMS.iter().find(is_meant).map(|&(_, ours)| ours);
    synonym
        .or_else(|| candidates.iter().copied().find(|ours| is_abbreviation(&word, ours)))
        .or_else(|| nearest(&word, &candidates))
}

fn is_abbreviation(word: &str, ours: &str) -> bool {
    word.chars().count() >= 3 && ours.starts_with(word)
}

fn nearest(word: &str, candidates: &[&'static str]) -> Option<&'static str> {
    let length = word.chars().count();
    // No term is much longer, and the distance takes time quadratic in the length.
    if length > 40 {
        return None;
    }
    let distances = candidates.iter().map(|&ours| (strsim::damerau_levenshtein(word, ours), ours));
    let (distance, ours) = distances.min_by_key(|&(distance, _)| distance)?;
    (distance <= (length / 3).max(1) && distance < length).then_some(ours)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_word_is_meant() {
        let check = |word, expected| {
            let words = ["allocated", "freed", "fn", "file", "size", "leaks", "peak"];
            assert_eq!(meant(word, words.into_iter()), expected, "{word}");
        };
        check("siez", Some("size"));
        check("alocated", Some("allocated"));
        check("alloc", Some("allocated"));
        check("LEAK", Some("leaks"));
        check("collected", Some("freed"));
        check("func", Some("fn"));
        check("fnn", Some("fn"));
        check("x", None);
        check("age", None);
        check("potato", None);
        check("", None);
        check(&"l".repeat(100_000), None);
    }
}
