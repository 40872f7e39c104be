// Estimates and their 95 % intervals, by the rules of crates/analysis/src/{estimate,interval}.rs.

import type { Measured, Quantity } from "./api";
import type { Facts } from "./facts";

/** 97.5 % quantile of the normal distribution. */
export const Z95 = 1.959963984540054;
/** The 95 % quantile of an exponential variable: nothing is hit in so many mean intervals. */
const NONE_IN_INTERVALS = 2.995732273553991;

export interface Estimate {
  value: number;
  variance: number;
  /** The part of the value that rests on blocks that might well have been missed. */
  uncertain: number;
}

export const NOTHING: Estimate = { value: 0, variance: 0, uncertain: 0 };

export function measured(value: number, variance: number, uncertain: number): Measured {
  return { value, ...interval(value, variance, uncertain) };
}

export function measuredOf({ value, variance, uncertain }: Estimate): Measured {
  return measured(value, variance, uncertain);
}

/** Where the truth is with a confidence of 95 %: the mid-P interval of a Poisson count of the same mean and variance. */
export function interval(value: number, variance: number, uncertain: number): { low: number; high: number } {
  if (!(variance > 0 && uncertain > 0)) {
    const half = Z95 * Math.sqrt(Math.max(0, variance));
    return { low: value - half, high: value + half };
  }
  const scale = variance / uncertain;
  const count = (uncertain * uncertain) / variance;
  const surely = value - uncertain;
  return { low: surely + scale * lowest(count), high: surely + scale * highest(count) };
}

/** The smallest mean of a Poisson variable with which `count` is not surprisingly high. */
function lowest(count: number): number {
  return gammaQuantile(count + 0.5 - 0.24 / Math.sqrt(count), -Z95);
}

/** The greatest mean with which it is not surprisingly low. */
function highest(count: number): number {
  return gammaQuantile(count + 0.5 + 0.22 / Math.sqrt(count + 1.3), Z95);
}

/** By Wilson and Hilferty (1931). */
function gammaQuantile(shape: number, z: number): number {
  if (shape <= 0) return 0;
  const root = Math.max(0, 1 - 1 / (9 * shape) + z / (3 * Math.sqrt(shape)));
  return shape * root * root * root;
}

/** Estimates of bytes and objects, with how many samples they rest on. */
export interface Amount {
  samples: number;
  bytes: Estimate;
  objects: Estimate;
}

/** No allocator hands out smaller blocks than this, in bytes. */
const SMALLEST = 16;

/** Whether only some of a trace's blocks are looked at: a filter chooses them, or has, when the trace was made. */
export function isOfSome(facts: Facts, filter: string | null): boolean {
  return filter !== null || Object.hasOwn(facts.labels, "slice.filter");
}

/** What has all blocks in it: its intervals have room for those of whatever sizes that may not have been hit, unless only
 * some blocks are looked at. */
export function ofAll(amount: Amount, facts: Facts, ofSome: boolean): Quantity {
  const { samples, bytes, objects } = quantity(amount, facts);
  const isExact = facts.exact && facts.hears_all;
  if (samples === 0 || isExact || ofSome) return { samples, bytes, objects };
  const unseen = NONE_IN_INTERVALS * facts.interval_bytes;
  const surely = amount.bytes.value - amount.bytes.uncertain;
  return {
    samples,
    bytes: { ...bytes, high: Math.max(bytes.high, surely + unseen) },
    objects: { ...objects, high: objects.high + unseen / SMALLEST },
  };
}

/** Of nothing that was sampled the interval reaches up to what might well have been missed; of objects nobody knows. */
export function quantity(amount: Amount, facts: Facts): Quantity {
  const { samples, bytes, objects } = amount;
  if (samples > 0) return { samples, bytes: measuredOf(bytes), objects: measuredOf(objects) };
  const isExact = facts.exact && facts.hears_all;
  const isBounded = facts.hears_all && facts.interval_bytes > 0;
  const most = isExact ? 0 : isBounded ? NONE_IN_INTERVALS * facts.interval_bytes : Infinity;
  return {
    samples,
    bytes: { value: 0, low: 0, high: most },
    objects: { value: 0, low: 0, high: isExact ? 0 : Infinity },
  };
}

/** `part` of `whole`; none of nothing. */
export function share(part: number, whole: number): number {
  return whole > 0 ? part / whole : 0;
}
