// What a time chart draws: contributors one upon another, and the process's memory at the same times.

import type { Line, Timeline, Trace } from "../../engine/api";

export interface Stack {
  /** Seconds since the start: the end of each part, after the beginning of the first. */
  seconds: number[];
  layers: Layer[];
  /** Bytes live in all, at the same times; the first is not known and drawn as the second. */
  total: number[];
  resident: (number | null)[] | null;
  heap: (number | null)[] | null;
}

export interface Layer {
  line: Line | null;
  /** Null is all others. */
  callsite: number | null;
  values: number[];
}

/** Stacks a time line's contributors; what they do not have is of the others. */
export function stacked(timeline: Timeline, trace: Trace): Stack {
  const ends = timeline.parts.map((part) => part.end);
  const total = timeline.parts.map((part) => part.atEnd.value);
  const layers: Layer[] = timeline.callsites.map(({ callsite, line, atEnd }) => ({ callsite, line, values: [...atEnd] }));
  const others = total.map((all, at) => Math.max(0, all - layers.reduce((sum, layer) => sum + layer.values[at], 0)));
  if (others.some((value, at) => value > 1e-6 * total[at] && value > 0.5)) layers.push({ callsite: null, line: null, values: others });
  const { memory } = trace;
  return {
    seconds: ends.map((end) => end * 1e-6),
    layers,
    total,
    resident: sampledAt(memory.time, memory.resident, timeline),
    heap: sampledAt(memory.time, memory.heap, timeline),
  };
}

/** The most that was seen in each part; where nothing was, what was seen last. Null if there is nothing at all. */
function sampledAt(times: Float64Array, values: Float64Array, { parts }: Timeline): (number | null)[] | null {
  const found: (number | null)[] = [];
  let [at, last, isAny] = [0, null as number | null, false];
  for (const { begin, end } of parts) {
    let most: number | null = null;
    for (; at < times.length && times[at] <= end; at++) {
      if (Number.isNaN(values[at])) continue;
      last = values[at];
      if (times[at] >= begin) most = Math.max(most ?? 0, last);
    }
    found.push(most ?? last);
    isAny ||= last !== null;
  }
  return isAny ? found : null;
}

/** Each layer with all that are beneath it: what is drawn from the greatest to the least. */
export function cumulated(layers: Layer[]): number[][] {
  const sums: number[][] = [];
  for (const { values } of layers) {
    const below = sums[sums.length - 1];
    sums.push(values.map((value, at) => value + (below ? below[at] : 0)));
  }
  return sums;
}
