// What an imported profile does not tell cannot be asked for: a filter that rests on it is refused in the words of the
// command (crates/study/src/origin/needs.rs), since its answer would be made up.

import type { Mistake } from "./api";
import type { Facts } from "./facts";
import { termSpans, isMistake } from "./filter/parse";
import { presetTerms } from "./filter/presets";
import { type Term, type When, writtenTerms } from "./filter/term";

type Lack = "times" | "lifetimes" | "peak" | "sizes" | "threads" | "allocated" | "live" | "objects" | "sampling";

/** In the order in which they are listed. */
const WORDS: Record<Lack, string> = {
  times: "when blocks were born and freed",
  lifetimes: "how long single blocks lived",
  peak: "the peak",
  sizes: "the sizes of single blocks",
  threads: "threads",
  allocated: "all that was ever allocated",
  live: "what was not freed",
  objects: "numbers of objects",
  sampling: "how it was sampled",
};

/** Null if the trace tells all that the filter rests on. The place is that of the first term that does not. */
export function untold(text: string, terms: Term[], facts: Facts): Mistake | null {
  const { in_import: origin } = facts;
  if (origin === null || origin === undefined) return null;
  const isMissing = (lack: Lack) => origin.lacks.includes(lack);
  const missing = new Set(terms.flatMap(needsOf).filter(isMissing));
  if (missing.size === 0) return null;
  const spans = termSpans(text);
  const at = terms.findIndex((term) => needsOf(term).some(isMissing));
  const { start, end } = isMistake(spans) ? { start: 0, end: text.length } : spans[at]!;
  const listed = Object.entries(WORDS).filter(([lack]) => missing.has(lack as Lack)).map(([, words]) => words);
  const what = `the filter '${writtenTerms(terms)}' cannot be answered`;
  return { message: `${what}: it rests on ${listed.join(", ")}, which this import from ${origin.from} does not tell`, start, end };
}

function needsOf({ claim }: Term): Lack[] {
  switch (claim.is) {
    case "preset":
      return presetTerms(claim.preset).flatMap(needsOf);
    case "allocated":
    case "alive":
      return [needOf(claim.when)];
    case "freed":
      return claim.when === null ? ["live"] : [needOf(claim.when), "live"];
    case "promoted":
    case "in old heap":
      return ["times"];
    case "size":
      return ["sizes", "objects"];
    case "lifetime":
      return ["lifetimes"];
    case "thread":
    case "thread name":
      return ["threads"];
    default:
      return [];
  }
}

/** What lived at the peak and at the end is told without times. */
function needOf(when: When): Lack {
  if (when.kind !== "at" || when.moment.kind !== "from" || when.moment.offset !== 0n) return "times";
  if (when.moment.anchor === "peak") return "peak";
  return when.moment.anchor === "end" ? "live" : "times";
}
