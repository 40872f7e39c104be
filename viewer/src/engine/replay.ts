// The chosen samples in the trace's order: when most of their bytes lived, and which lived then.
//
// What is alive is added up exactly, as the command does it (crates/analysis/src/fixed.rs): whole bytes and 2^-32 parts of
// one, each a whole number. So what is freed leaves nothing, and a peak is reached again only if it is exceeded.

import { BIRTH, type Columns, DEATH, PROMOTION } from "./columns";

const TWO_32 = 2 ** 32;

/** Samples that were chosen, and what became of them. */
export interface Lives {
  columns: Columns;
  /** By sample: 1 or 0. */
  chosen: Uint8Array;
  count: number;
  /** When their lives begin: see `oldHeapBirths`. */
  born: Float64Array;
  /** 1 where a life begins with the promotion; null if none does. */
  beginsAtPromotion: Uint8Array | null;
  /** By sample: 1 if it lived at the peak of those that were chosen. */
  atPeak: Uint8Array;
  peakTime: number | null;
}

/** Which event begins the life of which sample: that of the birth, or of the promotion. */
export function isBegin(lives: Pick<Lives, "beginsAtPromotion">, event: number): boolean {
  const what = event & 3;
  if (lives.beginsAtPromotion === null) return what === BIRTH;
  return what !== DEATH && (lives.beginsAtPromotion[event >>> 2] === 1) === (what === PROMOTION);
}

export function replay(
  columns: Columns,
  chosen: Uint8Array,
  born: Float64Array,
  beginsAtPromotion: Uint8Array | null,
): Lives {
  const lives = { columns, chosen, born, beginsAtPromotion };
  let count = 0;
  for (let at = 0; at < chosen.length; at++) count += chosen[at]!;
  const peak = peakOf(lives);
  return { ...lives, count, ...aliveAfter(lives, peak) };
}

/** The number of the event after which most bytes lived, for the first time; -1 if none ever did. */
function peakOf({ columns, chosen, beginsAtPromotion }: Omit<Lives, "count" | "atPeak" | "peakTime">): number {
  const { events, kind, kinds } = columns;
  const { whole, part } = kinds.exactBytes;
  let [bytes, parts, peakBytes, peakParts, peak] = [0, 0, 0, 0, -1];
  for (let at = 0; at < events.length; at++) {
    const event = events[at]!;
    const sample = event >>> 2;
    if (chosen[sample] === 0) continue;
    const what = event & 3;
    if (what === DEATH) {
      bytes -= whole[kind[sample]!]!;
      parts -= part[kind[sample]!]!;
      continue;
    }
    if (beginsAtPromotion === null ? what !== BIRTH : (beginsAtPromotion[sample] === 1) !== (what === PROMOTION)) continue;
    bytes += whole[kind[sample]!]!;
    parts += part[kind[sample]!]!;
    // Exact: what rounding there is does not come near to 0.
    if ((bytes - peakBytes) * TWO_32 + (parts - peakParts) > 0) [peakBytes, peakParts, peak] = [bytes, parts, at];
  }
  return peak;
}

function aliveAfter(
  lives: Omit<Lives, "count" | "atPeak" | "peakTime">,
  peak: number,
): Pick<Lives, "atPeak" | "peakTime"> {
  const { columns, chosen, born } = lives;
  const { events } = columns;
  const atPeak = new Uint8Array(chosen.length);
  for (let at = 0; at <= peak; at++) {
    const event = events[at]!;
    const sample = event >>> 2;
    if (chosen[sample] === 0) continue;
    if ((event & 3) === DEATH) atPeak[sample] = 0;
    else if (isBegin(lives, event)) atPeak[sample] = 1;
  }
  return { atPeak, peakTime: peak < 0 ? null : born[events[peak]! >>> 2]! };
}
