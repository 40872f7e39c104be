// Kinds of samples, and what a sample of each adds to the sums: the Horvitz-Thompson estimator of
// crates/analysis/src/estimate.rs. A sample stands for `weight` blocks like it.

import { type Bundle, DamagedBundle, type Integers, below } from "./bundle";

const TWO_32 = 2 ** 32;

/** An amount that a sample of each kind adds: value, variance, and the part that rests on what might have been missed. */
export interface Amounts {
  value: Float64Array;
  variance: Float64Array;
  uncertain: Float64Array;
}

export interface Kinds {
  count: number;
  bytes: Float64Array;
  weight: Float64Array;
  /** Row of `facts.sources`. */
  source: Integers;
  isGrowth: Uint8Array;
  /** What a sample of it adds. */
  ofBytes: Amounts;
  ofObjects: Amounts;
  /** Values as the command adds them up, exactly. */
  exactBytes: Exact;
  exactObjects: Exact;
}

/** Numbers in 32 binary places, as crates/analysis/src/fixed.rs has them: whole ones, and 2^-32 parts of one. Sums of either
 * are sums of whole numbers, which nothing is lost of. */
export interface Exact {
  whole: Float64Array;
  part: Float64Array;
}

export function readKinds(bundle: Bundle): Kinds {
  const bytes = bundle.numbers("kind.bytes");
  const count = bytes.length;
  const weight = bundle.numberColumn("kind.weight", count);
  const source = bundle.column("kind.source", count);
  below("kind.source", source, bundle.facts.sources.length);
  const flags = bundle.column("kind.flags", count);
  const isGrowth = Uint8Array.from(flags, (flag) => flag & 1);
  const doubt = weight.map(doubtOf);
  for (let kind = 0; kind < count; kind++) {
    const isSound = bytes[kind]! >= 0 && bytes[kind]! < Infinity && weight[kind]! >= 1 && weight[kind]! < Infinity;
    if (!isSound) throw new DamagedBundle(`the kind ${kind} of samples has ${bytes[kind]} bytes and stands for ${weight[kind]}`);
  }
  const amounts = (of: (kind: number) => number) => amountsOf(weight, doubt, of);
  const ofBytes = amounts((kind) => bytes[kind]!);
  const ofObjects = amounts((kind) => 1 - isGrowth[kind]!);
  const [exactBytes, exactObjects] = [exact(ofBytes.value), exact(ofObjects.value)];
  return { count, bytes, weight, source, isGrowth, ofBytes, ofObjects, exactBytes, exactObjects };
}

function exact(values: Float64Array): Exact {
  const whole = values.map(Math.floor);
  return { whole, part: values.map((value, kind) => Math.floor((value - whole[kind]!) * TWO_32)) };
}

/** Sums of both as a number. */
export function exactSum(whole: number, part: number): number {
  return whole + part / TWO_32;
}

/** 1 for blocks that are seldom hit, 0 for those that always are, `sqrt(1 - p^4)` between. */
function doubtOf(weight: number): number {
  return weight > 100 ? 1 : Math.sqrt(1 - 1 / (weight * weight * (weight * weight)));
}

function amountsOf(weight: Float64Array, doubt: Float64Array, of: (kind: number) => number): Amounts {
  const value = weight.map((it, kind) => it * of(kind));
  const variance = weight.map((it, kind) => it * (it - 1) * of(kind) * of(kind));
  const uncertain = value.map((it, kind) => it * doubt[kind]!);
  return { value, variance, uncertain };
}
