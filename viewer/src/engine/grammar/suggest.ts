// What may have been meant by a word that means nothing.

/** Other programs' words for what we call otherwise; of several, the first that may stand there. */
const SYNONYMS: [string, string][] = [
  ["age", "lifetime"],
  ["allocations", "objects"],
  ["blocks", "objects"],
  ["born", "allocated"],
  ["bytes", "size"],
  ["callsite", "innermost"],
  ["collected", "freed"],
  ["count", "objects"],
  ["dead", "freed"],
  ["deallocated", "freed"],
  ["died", "freed"],
  ["frame", "fn"],
  ["func", "fn"],
  ["function", "fn"],
  ["heap", "source"],
  ["heap", "live"],
  ["leaf", "innermost"],
  ["leaked", "leaks"],
  ["leaks", "leaked"],
  ["library", "module"],
  ["longlived", "long-lived"],
  ["malloc", "native"],
  ["malloced", "allocated"],
  ["max", "peak"],
  ["method", "fn"],
  ["never", "not"],
  ["never-freed", "leaks"],
  ["path", "file"],
  ["short-lived", "temporary"],
  ["slope", "growth"],
  ["survived", "leaks"],
  ["symbol", "fn"],
  ["tid", "thread"],
  ["total", "allocated"],
  ["type", "class"],
];

/** The candidate that was most likely meant; null if none is near. */
export function meant(typed: string, candidates: string[]): string | null {
  const word = typed.toLowerCase();
  const synonym = SYNONYMS.find(([other, ours]) => other === word && candidates.includes(ours));
  if (synonym !== undefined) return synonym[1];
  const whole = [...word].length >= 3 ? candidates.find((ours) => ours.startsWith(word)) : undefined;
  return whole ?? nearest(word, candidates);
}

function nearest(word: string, candidates: string[]): string | null {
  const length = [...word].length;
  // No term is much longer, and the distance takes time quadratic in the length.
  if (length > 40) return null;
  let best: string | null = null;
  let least = Infinity;
  for (const ours of candidates) {
    const distance = damerauLevenshtein(word, ours);
    if (distance < least) [best, least] = [ours, distance];
  }
  return least <= Math.max(1, Math.floor(length / 3)) && least < length ? best : null;
}

/** Letters to change, to put in, to leave out, or to swap with their neighbours. */
export function damerauLevenshtein(one: string, other: string): number {
  const [a, b] = [[...one], [...other]];
  const limit = a.length + b.length;
  const table = Array.from({ length: a.length + 2 }, () => new Array<number>(b.length + 2).fill(0));
  table[0]![0] = limit;
  for (let i = 0; i <= a.length; i++) [table[i + 1]![0], table[i + 1]![1]] = [limit, i];
  for (let j = 0; j <= b.length; j++) [table[0]![j + 1], table[1]![j + 1]] = [limit, j];
  const lastRow = new Map<string, number>();
  for (let i = 1; i <= a.length; i++) {
    let lastColumn = 0;
    for (let j = 1; j <= b.length; j++) {
      const row = lastRow.get(b[j - 1]!) ?? 0;
      const column = lastColumn;
      const same = a[i - 1] === b[j - 1];
      if (same) lastColumn = j;
      table[i + 1]![j + 1] = Math.min(
        table[i]![j]! + (same ? 0 : 1),
        table[i + 1]![j]! + 1,
        table[i]![j + 1]! + 1,
        table[row]![column]! + (i - row - 1) + 1 + (j - column - 1),
      );
    }
    lastRow.set(a[i - 1]!, i);
  }
  return table[a.length + 1]![b.length + 1]!;
}
