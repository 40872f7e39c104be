// Terms taken out of a filter's text and put into it, without reading all of its grammar.

/** A filter's words: what is in quotes is part of one. */
function words(filter: string): string[] {
  return filter.match(/(?:[^\s"']+|"(?:[^"]|"")*"?|'(?:[^']|'')*'?)+/g) ?? [];
}

/** Whether a preset stands in a filter, not negated. */
export function hasWord(filter: string, word: string): boolean {
  const all = words(filter);
  return all.some((each, at) => each.toLowerCase() === word && !isArgument(all, at) && !isNegated(all, at));
}

/** A filter with the preset if it was without, and without it if it had it. */
export function toggleWord(filter: string, word: string): string {
  const all = words(filter);
  if (!hasWord(filter, word)) return [...all, word].join(" ");
  return all.filter((each, at) => each.toLowerCase() !== word || isArgument(all, at) || isNegated(all, at)).join(" ");
}

/** `peak` is a moment after `alive at`, and a name after `label`. */
function isArgument(all: string[], at: number): boolean {
  const before = all[at - 1]?.toLowerCase() ?? "";
  return /^(at|before|after|label|\.\.|[<>=!:~]+)$/.test(before) || /[=:~<>]$/.test(before) || /\.\.$/.test(before) || isRangeHead(all, at);
}

function isRangeHead(all: string[], at: number): boolean {
  return /^(allocated|freed|promoted|alive)$/i.test(all[at - 1] ?? "") && /^\.\./.test(all[at + 1] ?? "");
}

function isNegated(all: string[], at: number): boolean {
  return all[at - 1]?.toLowerCase() === "not";
}

const MOMENT = String.raw`(?:(?:start|end|peak)?[+-]?[\d.]*(?:us|ms|min|s|m|h|d|%)?[\d.a-z]*)`;
/** What is said of times: what dragging a range says anew. */
const TIMED = new RegExp(
  String.raw`(^|\s)(?:(?:allocated|freed|alive)\s+(?:(?:at|before|after)\s+\S+|${MOMENT}\s*\.\.\s*${MOMENT})|(?<!\b(?:at|before|after|label|not)\s+)peak)(?=\s|$)`,
  "gi",
);

/** A filter with another time than it had; the rest of it stays. */
export function withTime(filter: string, time: string): string {
  // Quotes hide what looks like a term.
  const parts = filter.split(/("(?:[^"]|"")*"|'(?:[^']|'')*')/);
  const rest = parts.map((part, at) => (at % 2 ? part : part.replace(TIMED, "$1"))).join("");
  return words(`${rest.replace(/(^|\s)not(?=\s*$)/i, "")} ${time}`).join(" ");
}

/** The terms about times, for people. */
export function timeOf(canonical: string | null): string[] {
  const bare = (canonical ?? "").replace(/"(?:[^"]|"")*"/g, '""');
  return [...bare.matchAll(new RegExp(TIMED.source, "gi"))].map(([text]) => text.trim());
}
