// What the chosen samples amount to, by group: samples of one backtrace and one kind count alike, and there are far fewer
// groups than samples. All tables and trees are made of these sums (crates/analysis/src/{account,profile}.rs).

import type { Metric } from "./api";
import type { Columns } from "./columns";
import { type Amount, type Estimate, NOTHING } from "./estimate";
import type { Facts } from "./facts";
import { type Amounts, exactSum } from "./kinds";
import { LEFT_OUT } from "./shape";
import type { Lives } from "./replay";

/** Samples by what they have in common. */
export interface Groups {
  count: number;
  /** By sample. */
  of: Uint32Array;
  node: Uint32Array;
  kind: Uint32Array;
}

export function findGroups({ count, node, kind }: Columns): Groups {
  const of = new Uint32Array(count);
  let table = new Uint32Array(1024);
  let [nodes, kinds] = [new Uint32Array(512), new Uint32Array(512)];
  let groups = 0;
  const slotOf = (atNode: number, atKind: number) => {
    const mask = table.length - 1;
    let hash = Math.imul(atNode ^ Math.imul(atKind, 0x9e37_79b1), 0x85eb_ca6b);
    hash ^= hash >>> 15;
    let slot = hash & mask;
    for (; table[slot] !== 0; slot = (slot + 1) & mask) {
      const group = table[slot]! - 1;
      if (nodes[group] === atNode && kinds[group] === atKind) break;
    }
    return slot;
  };
  for (let sample = 0; sample < count; sample++) {
    let slot = slotOf(node[sample]!, kind[sample]!);
    if (table[slot] === 0) {
      if (groups === nodes.length) {
        [nodes, kinds] = [widened(nodes), widened(kinds)];
        table = new Uint32Array(table.length * 2);
        for (let group = 0; group < groups; group++) table[slotOf(nodes[group]!, kinds[group]!)] = group + 1;
        slot = slotOf(node[sample]!, kind[sample]!);
      }
      [nodes[groups], kinds[groups]] = [node[sample]!, kind[sample]!];
      table[slot] = ++groups;
    }
    of[sample] = table[slot]! - 1;
  }
  return { count: groups, of, node: nodes.slice(0, groups), kind: kinds.slice(0, groups) };
}

function widened(from: Uint32Array) {
  const to = new Uint32Array(from.length * 2);
  to.set(from);
  return to;
}

/** What was chosen of each group. */
export interface Holdings {
  columns: Columns;
  groups: Groups;
  /** How many samples were allocated, live at the end, and lived at the peak. */
  allocated: Uint32Array;
  live: Uint32Array;
  peak: Uint32Array;
  /** Seconds that they lived, and their squares; found when they are asked for. */
  lived(): { seconds: Float64Array; squares: Float64Array };
}

export function hold(lives: Lives, groups: Groups, duration: number): Holdings {
  const { columns, chosen, atPeak } = lives;
  const { diedAt } = columns;
  const counts = () => new Uint32Array(groups.count);
  const [allocated, live, peak] = [counts(), counts(), counts()];
  for (let sample = 0; sample < chosen.length; sample++) {
    if (chosen[sample] === 0) continue;
    const group = groups.of[sample]!;
    allocated[group]!++;
    if (diedAt[sample] === 0xffff_ffff) live[group]!++;
    if (atPeak[sample] === 1) peak[group]!++;
  }
  let found: ReturnType<Holdings["lived"]> | null = null;
  return { columns, groups, allocated, live, peak, lived: () => (found ??= livedOf(lives, groups, duration)) };
}

function livedOf({ columns, chosen, born }: Lives, groups: Groups, duration: number): ReturnType<Holdings["lived"]> {
  const { death } = columns;
  const [seconds, squares] = [new Float64Array(groups.count), new Float64Array(groups.count)];
  for (let sample = 0; sample < chosen.length; sample++) {
    if (chosen[sample] === 0) continue;
    const died = death[sample]!;
    const lived = ((died === Infinity ? duration : died) - born[sample]!) / 1e6;
    if (lived <= 0) continue;
    const group = groups.of[sample]!;
    seconds[group]! += lived;
    squares[group]! += lived * lived;
  }
  return { seconds, squares };
}

/** Holdings, and where each backtrace counts: `LEFT_OUT` where it does not. */
export interface Part {
  holdings: Holdings;
  target: Uint32Array;
}

/** Estimates by target. */
export interface Sums {
  samples: Uint32Array;
  value: Float64Array;
  variance: Float64Array;
  uncertain: Float64Array;
}

export function newSums(count: number): Sums {
  const numbers = () => new Float64Array(count);
  return { samples: new Uint32Array(count), value: numbers(), variance: numbers(), uncertain: numbers() };
}

/** What nodes have, with all that lies below them. */
export function addedUp(from: Readonly<Sums>, parent: Uint32Array): Sums {
  const sums = { samples: from.samples.slice(), value: from.value.slice(), variance: from.variance.slice(), uncertain: from.uncertain.slice() };
  const { samples, value, variance, uncertain } = sums;
  for (let node = value.length - 1; node > 0; node--) {
    const outer = parent[node]!;
    value[outer]! += value[node]!;
    variance[outer]! += variance[node]!;
    uncertain[outer]! += uncertain[node]!;
    samples[outer]! += samples[node]!;
  }
  return sums;
}

export function estimateAt({ value, variance, uncertain }: Sums, at: number): Estimate {
  return { value: value[at]!, variance: variance[at]!, uncertain: uncertain[at]! };
}

/** What each target has of a metric; `samples` are those that count for it. */
export function sumMetric(parts: Part[], count: number, metric: Metric): Sums {
  const sums = newSums(count);
  for (const { holdings, target } of parts) {
    if (metric === "byte-seconds") addByteSeconds(sums, holdings, target);
    else add(sums, holdings, target, countsOf(holdings, metric), metric === "objects");
  }
  return sums;
}

/** Bytes and objects of what was allocated, lives, or lived at the peak. */
export function sumAmounts(parts: Part[], count: number, metric: "allocated" | "live" | "peak"): [Sums, Sums] {
  const [bytes, objects] = [newSums(count), newSums(count)];
  for (const { holdings, target } of parts) {
    add(bytes, holdings, target, countsOf(holdings, metric), false);
    add(objects, holdings, target, countsOf(holdings, metric), true);
  }
  return [bytes, objects];
}

export function amountAt([bytes, objects]: [Sums, Sums], at: number): Amount {
  return { samples: bytes.samples[at]!, bytes: estimateAt(bytes, at), objects: estimateAt(objects, at) };
}

export function countsOf(holdings: Holdings, metric: Metric): Uint32Array {
  return metric === "live" ? holdings.live : metric === "peak" ? holdings.peak : holdings.allocated;
}

function amountsOf({ columns }: Holdings, areObjects: boolean): Amounts {
  return areObjects ? columns.kinds.ofObjects : columns.kinds.ofBytes;
}

/** Values are added up exactly, as the command does it: backtraces that have as much must not differ by rounding. */
function add(sums: Sums, holdings: Holdings, target: Uint32Array, counts: Uint32Array, areObjects: boolean): void {
  const { groups, columns } = holdings;
  const { variance, uncertain } = amountsOf(holdings, areObjects);
  const { whole, part } = areObjects ? columns.kinds.exactObjects : columns.kinds.exactBytes;
  const parts = new Float64Array(sums.value.length);
  for (let group = 0; group < groups.count; group++) {
    const count = counts[group]!;
    if (count === 0) continue;
    const at = target[groups.node[group]!]!;
    if (at === LEFT_OUT) continue;
    const kind = groups.kind[group]!;
    sums.samples[at]! += count;
    sums.value[at]! += count * whole[kind]!;
    parts[at]! += count * part[kind]!;
    sums.variance[at]! += count * variance[kind]!;
    sums.uncertain[at]! += count * uncertain[kind]!;
  }
  for (let at = 0; at < parts.length; at++) sums.value[at] = exactSum(sums.value[at]!, parts[at]!);
}

function addByteSeconds(sums: Sums, holdings: Holdings, target: Uint32Array): void {
  const { groups, allocated, columns } = holdings;
  const { seconds, squares } = holdings.lived();
  const { ofBytes } = columns.kinds;
  for (let group = 0; group < groups.count; group++) {
    if (allocated[group] === 0) continue;
    const at = target[groups.node[group]!]!;
    if (at === LEFT_OUT) continue;
    const kind = groups.kind[group]!;
    sums.samples[at]! += allocated[group]!;
    sums.value[at]! += seconds[group]! * ofBytes.value[kind]!;
    sums.variance[at]! += squares[group]! * ofBytes.variance[kind]!;
    sums.uncertain[at]! += seconds[group]! * ofBytes.uncertain[kind]!;
  }
}

/** Bytes and objects of all that was chosen, whatever their backtraces. */
export function totalOf(holdings: Holdings, metric: "allocated" | "live" | "peak"): Amount {
  const counts = countsOf(holdings, metric);
  const ofKinds = new Float64Array(holdings.columns.kinds.count);
  for (let group = 0; group < counts.length; group++) ofKinds[holdings.groups.kind[group]!]! += counts[group]!;
  return amountOfKinds(holdings.columns, ofKinds);
}

/** So many samples of each kind. */
export function amountOfKinds({ kinds }: Columns, counts: ArrayLike<number>): Amount {
  let samples = 0;
  const [bytes, objects] = [{ ...NOTHING }, { ...NOTHING }];
  for (let kind = 0; kind < kinds.count; kind++) {
    const count = counts[kind]!;
    if (count === 0) continue;
    samples += count;
    addTimes(bytes, kinds.ofBytes, kind, count);
    addTimes(objects, kinds.ofObjects, kind, count);
  }
  return { samples, bytes, objects };
}

function addTimes(sum: Estimate, of: Amounts, kind: number, count: number): void {
  sum.value += count * of.value[kind]!;
  sum.variance += count * of.variance[kind]!;
  sum.uncertain += count * of.uncertain[kind]!;
}

/** What moved from a young to an old heap; with `in old heap` what did so after its life had begun. */
export function promotedOf({ columns, chosen, beginsAtPromotion }: Lives, facts: Facts): Amount {
  const { promoted, kind, kinds } = columns;
  const ofKinds = new Float64Array(kinds.count);
  if (promoted === null) return amountOfKinds(columns, ofKinds);
  const isInside = Array.from(kinds.source, (source) => ["minor", "major"].includes(facts.sources[source]!.source));
  for (let sample = 0; sample < chosen.length; sample++) {
    const counts = chosen[sample] === 1 && promoted[sample] === promoted[sample] && beginsAtPromotion?.[sample] !== 1;
    if (counts && isInside[kind[sample]!]) ofKinds[kind[sample]!]!++;
  }
  return amountOfKinds(columns, ofKinds);
}
