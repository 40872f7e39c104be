// Is a difference between two sides more than noise? (crates/analysis/src/statistics/{compare,correction}.rs): a score test
// for one run a side, Welch's t test for several.

import { type Estimate, Z95 } from "../estimate";
import { critical, twoSidedP } from "./distribution";

/** What a run says of an amount; `grain` is what one more sampled block would add. */
export interface Run {
  estimate: Pick<Estimate, "value" | "variance">;
  grain: number;
}

/** A change of an amount, and how sure it is. */
export interface Difference {
  before: number;
  after: number;
  change: number;
  /** Half the width of the 95 % interval of the change. */
  interval: number;
  /** Of such a change, or a greater one, if the sides are equal. */
  pValue: number;
}

/** The runs of one side. */
interface Side {
  runs: number;
  mean: number;
  /** Mean variance of sampling of a run, and that variance for each unit of the amount. */
  sampling: number;
  dispersion: number;
  /** Variance of the runs' estimates; null of a single run. */
  spread: number | null;
}

type Pair<T> = [T, T];

/** Compares two sides of at least one run each. */
export function difference(before: Run[], after: Run[]): Difference {
  if (before.length === 1 && after.length === 1) return ofTwo(before[0]!, after[0]!);
  const sides: Pair<Side> = [sideOf(before), sideOf(after)];
  const common = commonMean(sides);
  const known = sides.map((side) => Math.max(side.sampling, side.dispersion * Math.max(0, common))) as Pair<number>;
  const { variance, freedom } = varianceOfChange(sides, known);
  const change = sides[1].mean - sides[0].mean;
  const error = Math.sqrt(variance);
  return {
    before: sides[0].mean,
    after: sides[1].mean,
    change,
    interval: variance === 0 ? 0 : criticalOf(freedom) * error,
    pValue: change === 0 ? 1 : twoSidedP(change / error, freedom),
  };
}

function ofTwo(before: Run, after: Run): Difference {
  const [one, other] = [before.estimate, after.estimate];
  const variance = varianceOfTwo(one.value, one.variance, before.grain, other.value, other.variance, after.grain);
  const change = other.value - one.value;
  return { before: one.value, after: other.value, change, interval: halfWidth(variance), pValue: pValueOf(change, variance) };
}

/** The variance of the change from one run to another, if that is known from their sampling. */
export function varianceOfTwo(
  before: number,
  beforeVariance: number,
  beforeGrain: number,
  after: number,
  afterVariance: number,
  afterGrain: number,
): number {
  const beforeDispersion = before > 0 ? beforeVariance / before : beforeGrain;
  const afterDispersion = after > 0 ? afterVariance / after : afterGrain;
  const common = Math.max(0, meanOfTwo(before, 1 / beforeDispersion, after, 1 / afterDispersion));
  return Math.max(beforeVariance, beforeDispersion * common) + Math.max(afterVariance, afterDispersion * common);
}

/** Half the width of the 95 % interval, where the variance is known. */
export function halfWidth(variance: number): number {
  return variance === 0 ? 0 : Z95 * Math.sqrt(variance);
}

/** Of such a change, or a greater one, if there is none; where the variance is known. */
export function pValueOf(change: number, variance: number): number {
  return change === 0 ? 1 : twoSidedP(change / Math.sqrt(variance), Infinity);
}

const knownCritical = new Map<number, number>();

function criticalOf(freedom: number): number {
  const known = knownCritical.get(freedom) ?? critical(0.95, freedom);
  if (knownCritical.size > 10_000) knownCritical.clear();
  knownCritical.set(freedom, known);
  return known;
}

function sideOf(runs: Run[]): Side {
  const count = runs.length;
  const average = (of: (run: Run) => number) => runs.reduce((sum, run) => sum + of(run), 0) / count;
  const mean = average(({ estimate }) => estimate.value);
  const sampling = average(({ estimate }) => estimate.variance);
  const squares = average(({ estimate }) => (estimate.value - mean) ** 2);
  const dispersion = mean > 0 ? sampling / mean : average(({ grain }) => grain);
  return { runs: count, mean, sampling, dispersion, spread: count > 1 ? (squares * count) / (count - 1) : null };
}

/** The likeliest mean if the sides are equal: for counts of equal blocks all blocks over all places to look at. */
function commonMean(sides: Pair<Side>): number {
  const [before, after] = sides.map((side) => side.runs / side.dispersion) as Pair<number>;
  return meanOfTwo(sides[0].mean, before, sides[1].mean, after);
}

function meanOfTwo(before: number, beforeWeight: number, after: number, afterWeight: number): number {
  if (Number.isFinite(beforeWeight) && Number.isFinite(afterWeight)) {
    return (before * beforeWeight + after * afterWeight) / (beforeWeight + afterWeight);
  }
  if (Number.isFinite(afterWeight)) return before;
  if (Number.isFinite(beforeWeight)) return after;
  return (before + after) / 2;
}

/** The variance of the difference of means, and its degrees of freedom (Welch 1947; Satterthwaite 1946). */
function varianceOfChange(sides: Pair<Side>, known: Pair<number>): { variance: number; freedom: number } {
  const runs = sides.map((side) => side.runs) as Pair<number>;
  const spread = sides.map((side, k) => (side.spread === null ? null : Math.max(side.spread, known[k]!)));
  const [before, after] = spread as Pair<number | null>;
  if (before === null && after === null) return { variance: known[0] + known[1], freedom: Infinity };
  if (before !== null && after !== null) {
    const parts: Pair<number> = [before / runs[0], after / runs[1]];
    // Two runs that are alike by chance must not pass for a side that is known well.
    const equal = satterthwaite([1 / runs[0], 1 / runs[1]], runs);
    return { variance: parts[0] + parts[1], freedom: Math.min(satterthwaite(parts, runs), equal) };
  }
  if (before !== null) return borrowed(before, known, runs);
  return borrowed(after!, [known[1], known[0]], [runs[1], runs[0]]);
}

/** Degrees of freedom of the sum of two variances. */
function satterthwaite(parts: Pair<number>, runs: Pair<number>): number {
  const doubt = parts[0] ** 2 / (runs[0] - 1) + parts[1] ** 2 / (runs[1] - 1);
  return doubt > 0 ? (parts[0] + parts[1]) ** 2 / doubt : Infinity;
}

/** If only the first side has several runs. */
function borrowed(spread: number, known: Pair<number>, runs: Pair<number>): { variance: number; freedom: number } {
  const between = spread - known[0];
  return { variance: spread / runs[0] + (between + known[1]) / runs[1], freedom: runs[0] - 1 };
}

/** Of those that are then called significant at a level, at most that share is noise, on average. */
export function benjaminiHochberg(pValues: ArrayLike<number>): Float64Array {
  const sound = Float64Array.from(pValues, (p) => (Number.isNaN(p) ? 1 : Math.min(1, Math.max(0, p))));
  const ascending = sound.slice().sort();
  const corrected = new Float64Array(sound.length);
  let least = 1;
  for (let rank = ascending.length - 1; rank >= 0; rank--) {
    least = Math.min(least, (ascending[rank]! * sound.length) / (rank + 1));
    corrected[rank] = least;
  }
  // Equal ones have the least of their ranks, which is that of the first.
  return sound.map((p) => corrected[firstOf(ascending, p)]!);
}

/** Where a number is for the first time in numbers that ascend. */
function firstOf(ascending: Float64Array, number: number): number {
  let [low, high] = [0, ascending.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (ascending[middle]! < number) low = middle + 1;
    else high = middle;
  }
  return low;
}
