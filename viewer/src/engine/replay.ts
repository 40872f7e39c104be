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

type Beginnings = Omit<Lives, "count" | "atPeak" | "peakTime">;

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
function peakOf(lives: Beginnings): number {
  return lives.beginsAtPromotion === null ? peakOfAll(lives) : peakInOldHeap(lives, lives.beginsAtPromotion);
}

function peakOfAll({ columns, chosen }: Beginnings): number {
  const { events, kind, kinds } = columns;
  const { whole, part } = kinds.exactBytes;
  let [bytes, parts, peakBytes, peakParts, peak] = [0, 0, 0, 0, -1];
  for (let at = 0; at < events.length; at++) {
    const event = events[at]!;
    const sample = event >>> 2;
    if (chosen[sample] === 0) continue;
    const what = event & 3;
    const of = kind[sample]!;
    if (what === BIRTH) {
      bytes += whole[of]!;
      parts += part[of]!;
      // Exact: what rounding there is does not come near to 0.
      if ((bytes - peakBytes) * TWO_32 + (parts - peakParts) > 0) {
        peakBytes = bytes;
        peakParts = parts;
        peak = at;
      }
    } else if (what === DEATH) {
      bytes -= whole[of]!;
      parts -= part[of]!;
    }
  }
  return peak;
}

function peakInOldHeap({ columns, chosen }: Beginnings, atPromotion: Uint8Array): number {
  const { events, kind, kinds } = columns;
  const { whole, part } = kinds.exactBytes;
  let [bytes, parts, peakBytes, peakParts, peak] = [0, 0, 0, 0, -1];
  for (let at = 0; at < events.length; at++) {
    const event = events[at]!;
    const sample = event >>> 2;
    const what = event & 3;
    if (chosen[sample] === 0) continue;
    if (what === DEATH) {
      bytes -= whole[kind[sample]!]!;
      parts -= part[kind[sample]!]!;
    } else if ((atPromotion[sample] === 1) === (what === PROMOTION)) {
      bytes += whole[kind[sample]!]!;
      parts += part[kind[sample]!]!;
      if ((bytes - peakBytes) * TWO_32 + (parts - peakParts) > 0) [peakBytes, peakParts, peak] = [bytes, parts, at];
    }
  }
  return peak;
}

function aliveAfter(lives: Beginnings, peak: number): Pick<Lives, "atPeak" | "peakTime"> {
  const { columns, chosen, born, beginsAtPromotion } = lives;
  const { events, bornAt, diedAt } = columns;
  const atPeak = new Uint8Array(chosen.length);
  if (peak < 0) return { atPeak, peakTime: null };
  const peakTime = born[events[peak]! >>> 2]!;
  for (let sample = 0; sample < atPeak.length; sample++) {
    atPeak[sample] = chosen[sample]! & Number(bornAt[sample]! <= peak) & Number(diedAt[sample]! > peak);
  }
  if (beginsAtPromotion === null) return { atPeak, peakTime };
  // Those that were promoted later are not yet there.
  for (let at = peak + 1; at < events.length; at++) {
    const sample = events[at]! >>> 2;
    if ((events[at]! & 3) === PROMOTION && beginsAtPromotion[sample] === 1) atPeak[sample] = 0;
  }
  return { atPeak, peakTime };
}
