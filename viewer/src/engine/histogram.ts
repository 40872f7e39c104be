// Lifetimes in bins that are narrow in proportion, and their distribution function
// (crates/analysis/src/statistics/{histogram,mass,proportion}.rs).

import { Z95 } from "./estimate";
import { type Exact, exactSum, type Kinds } from "./kinds";

const SUBDIVISIONS = 16;
/** Bins up to 2^53, beyond which no number is whole. */
const BINS = (53 - 4 + 1) * SUBDIVISIONS + SUBDIVISIONS;

export type Unit = "objects" | "bytes";

/** The bin that holds this whole number. */
export function binOf(value: number): number {
  if (value < SUBDIVISIONS) return value;
  if (value < 2 ** 31) {
    const shift = 27 - Math.clz32(value);
    return shift * SUBDIVISIONS + (value >>> shift);
  }
  const exponent = value < 2 ** 32 ? 31 - Math.clz32(value) : 63 - Math.clz32(value / 2 ** 32);
  const shift = exponent - 4;
  return shift * SUBDIVISIONS + Math.floor(value / 2 ** shift);
}

export function leastOf(bin: number): number {
  const shift = Math.max(0, Math.floor(bin / SUBDIVISIONS) - 1);
  return (bin - shift * SUBDIVISIONS) * 2 ** shift;
}

export function greatestOf(bin: number): number {
  return leastOf(bin) + 2 ** Math.max(0, Math.floor(bin / SUBDIVISIONS) - 1) - 1;
}

/** Sums over blocks: what they stand for, added up exactly, and its squares. Where all have died, nothing must be left of
 * the weights; what rounding leaves would look like blocks that live on. */
interface Mass {
  whole: Float64Array;
  part: Float64Array;
  squares: Float64Array;
}

/** Sampled blocks by a property of theirs. */
export class Histogram {
  /** By bin: the least and the greatest value that was seen. */
  readonly least = new Float64Array(BINS).fill(Infinity);
  readonly greatest = new Float64Array(BINS).fill(-1);
  private readonly mass: Record<Unit, Mass> = { bytes: newMass(), objects: newMass() };

  add(value: number, kinds: Kinds, kind: number): void {
    const bin = binOf(value);
    if (value < this.least[bin]!) this.least[bin] = value;
    if (value > this.greatest[bin]!) this.greatest[bin] = value;
    addMass(this.mass.bytes, bin, kinds.ofBytes.value[kind]!, kinds.exactBytes, kind);
    addMass(this.mass.objects, bin, kinds.ofObjects.value[kind]!, kinds.exactObjects, kind);
  }

  /** The bins that were hit, in order. */
  bins(): number[] {
    const found: number[] = [];
    for (let bin = 0; bin < BINS; bin++) if (this.greatest[bin]! >= 0) found.push(bin);
    return found;
  }

  weightOf(unit: Unit, bin: number): number {
    return exactSum(this.mass[unit].whole[bin]!, this.mass[unit].part[bin]!);
  }

  squaresOf(unit: Unit, bin: number): number {
    return this.mass[unit].squares[bin]!;
  }

  isEmpty(unit: Unit): boolean {
    const { whole, part } = this.mass[unit];
    return whole.every((it) => it === 0) && part.every((it) => it === 0);
  }
}

function newMass(): Mass {
  const numbers = () => new Float64Array(BINS);
  return { whole: numbers(), part: numbers(), squares: numbers() };
}

function addMass(mass: Mass, bin: number, value: number, exact: Exact, kind: number): void {
  mass.whole[bin]! += exact.whole[kind]!;
  mass.part[bin]! += exact.part[kind]!;
  mass.squares[bin]! += value * value;
}

/** An estimated share; it tells as much as so many equal and independent blocks would. */
export interface Proportion {
  value: number;
  effectiveSamples: number;
}

/** Where the share is 0 or 1 no variance can be seen: there it counts as if made of `samples` equal blocks. */
export function proportion(share: number, variance: number, samples: number): Proportion {
  const value = Math.min(1, Math.max(0, share));
  const spread = value * (1 - value);
  return { value, effectiveSamples: spread > 0 && variance > 0 ? spread / variance : samples };
}

/** Wilson's interval. */
export function interval95({ value, effectiveSamples: n }: Proportion): [number, number] {
  const z2 = Z95 * Z95;
  if (Number.isNaN(n) || n <= 0) return [0, 1];
  const middle = (value + z2 / n / 2) / (1 + z2 / n);
  const spread = value * (1 - value) + z2 / n / 4;
  const half = Math.sqrt((z2 / n) * spread) / (1 + z2 / n);
  return [Math.min(value, Math.max(0, middle - half)), Math.min(1, Math.max(value, middle + half))];
}

/** A distribution function over one bin: from `before` to `share`, whose variance that is. */
export interface Step {
  least: number;
  greatest: number;
  before: number;
  share: number;
  variance: number;
  samples: number;
}

export function proportionAt({ share, variance, samples }: Step): Proportion {
  return proportion(share, variance, samples);
}

/** The distribution function at one value; null without steps. */
export function shareAtMost(steps: Step[], value: number): number | null {
  if (steps.length === 0) return null;
  let [low, high] = [0, steps.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (steps[middle]!.least <= value) low = middle + 1;
    else high = middle;
  }
  const step = steps[low - 1];
  if (step === undefined) return 0;
  const part = (Math.max(0, value - step.least) + 1) / (step.greatest - step.least + 1);
  return Math.min(1, Math.max(0, step.before + (step.share - step.before) * Math.min(1, part)));
}

export interface Quantile {
  value: number;
  low: number | null;
  high: number | null;
}

/** Where a distribution function reaches `q`, and the first and last place where it may. */
export function invert(steps: Step[], q: number): Quantile | null {
  // Rounding must not hide that a share of 0.5 is reached.
  const reached = (share: number) => share >= q - 1e-12;
  const step = steps.find(({ share }) => reached(share));
  if (step === undefined) return null;
  const low = steps.find((it) => reached(interval95(proportionAt(it))[1]));
  const high = steps.find((it) => reached(interval95(proportionAt(it))[0]));
  const isOpenBelow = reached(interval95(proportion(0, 0, steps[0]!.samples))[1]);
  const height = step.share - step.before;
  const part = Math.min(1, Math.max(0, height > 0 ? (q - step.before) / height : 0));
  return {
    value: step.least + (step.greatest - step.least) * part,
    low: isOpenBelow || low === undefined ? null : low.least,
    high: high === undefined ? null : high.greatest,
  };
}
