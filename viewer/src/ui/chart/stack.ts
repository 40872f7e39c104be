// What a time chart draws: contributors one upon another, and the process's memory at the same times.

import type { Line, Measured, Timeline, Trace } from "../../engine/api";

export interface Stack {
  /** Seconds since the start: the end of each part, after the beginning of the first. */
  seconds: number[];
  layers: Layer[];
  /** Bytes live in all, at the same times. */
  total: Measured[];
  /** The most within each part, where that is more than can be seen at the ends of parts. */
  most: number[] | null;
  resident: (number | null)[] | null;
  heap: (number | null)[] | null;
}

export interface Layer {
  line: Line | null;
  /** Null is all others. */
  callsite: number | null;
  values: number[];
  /** Of sampling; of the others not known. */
  variance: Float64Array | null;
}

/** Stacks a time line's contributors; what they do not have is of the others. */
export function stacked(timeline: Timeline, trace: Trace): Stack {
  const ends = timeline.parts.map((part) => part.end);
  const total = timeline.parts.map((part) => part.atEnd);
  const layers: Layer[] = timeline.callsites.map(({ callsite, line, atEnd, variance }) => ({ callsite, line, values: [...atEnd], variance }));
  const others = total.map((all, at) => Math.max(0, all.value - layers.reduce((sum, layer) => sum + layer.values[at], 0)));
  const areAny = others.some((value, at) => value > 1e-6 * total[at].value && value > 0.5);
  if (areAny) layers.push({ callsite: null, line: null, values: others, variance: null });
  const { memory } = trace;
  return {
    seconds: ends.map((end) => end * 1e-6),
    layers,
    total,
    most: hidden(timeline),
    resident: sampledAt(memory.time, memory.resident, timeline),
    heap: sampledAt(memory.time, memory.heap, timeline),
  };
}

/** So much higher than what is drawn must something be to be worth a line. */
const HIDDEN = 1.05;

function hidden({ parts }: Timeline): number[] | null {
  const most = parts.map((part) => part.most.value);
  const drawn = parts.map((part, at) => Math.max(part.atEnd.value, parts[at - 1]?.atEnd.value ?? 0));
  const height = Math.max(...drawn);
  return most.some((value, at) => value > HIDDEN * drawn[at] && value > 0.05 * height) ? most : null;
}

/** 97.5 % quantile of the normal distribution. */
const Z95 = 1.959963984540054;

/** What a layer has, with its interval. */
export function measuredAt({ values, variance }: Layer, at: number): Measured {
  const value = values[at] ?? 0;
  const half = variance ? Z95 * Math.sqrt(variance[at] ?? 0) : 0;
  return { value, low: value - half, high: value + half };
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
