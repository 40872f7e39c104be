// Trees of callers and callees as typed arrays (crates/analysis/src/branches.rs).

import type { Line, Measured, Tree } from "./api";
import { measured } from "./estimate";
import type { Sums } from "./holdings";
import { lineOf, type Shaped } from "./shape";

/** Nodes while a tree is made; parents before children, the root first. */
export interface Branches {
  parent: number[];
  /** Look of each. */
  look: number[];
  /** What came through, and what of it goes no further. */
  total: Sums;
  own: Float64Array;
}

/** The lifetimes of what came through a node; looked at for colours only. */
export type MeanLifetimes = () => { bytes: Float64Array; byteSeconds: Float64Array };

export function treeOf(shaped: Shaped, branches: Branches, lifetimes: MeanLifetimes): Tree {
  const parent = Uint32Array.from(branches.parent);
  const line = Uint32Array.from(branches.look);
  const depth = new Uint16Array(parent.length);
  for (let node = 1; node < parent.length; node++) depth[node] = Math.min(0xffff, depth[parent[node]!]! + 1);
  const { value, variance, uncertain, samples } = branches.total;
  const children = childrenOf(parent, value);
  let means: ReturnType<MeanLifetimes> | null = null;
  return {
    parent,
    line,
    depth,
    total: value,
    own: branches.own,
    variance,
    samples,
    lines: linesOf(shaped),
    interval: (node): Measured => measured(value[node]!, variance[node]!, uncertain[node]!),
    children,
    meanLifetime: (node) => {
      means ??= lifetimes();
      const bytes = means.bytes[node]!;
      return bytes > 0 ? (1e6 * means.byteSeconds[node]!) / bytes : null;
    },
  };
}

const knownLines = new WeakMap<Shaped["looks"], Line[]>();

/** All lines that backtraces have, by look. */
export function linesOf(shaped: Shaped): Line[] {
  let lines = knownLines.get(shaped.looks);
  if (lines === undefined) {
    lines = shaped.looks.map((_, look) => lineOf(shaped, look));
    knownLines.set(shaped.looks, lines);
  }
  return lines;
}

/** Those of each node that have most first. */
export function childrenOf(parent: Uint32Array, total: Float64Array): (node: number) => number[] {
  const first = new Uint32Array(parent.length + 1);
  for (let node = 1; node < parent.length; node++) first[parent[node]! + 1]!++;
  for (let node = 0; node < parent.length; node++) first[node + 1]! += first[node]!;
  const places = first.slice();
  const all = new Uint32Array(Math.max(0, parent.length - 1));
  for (let node = 1; node < parent.length; node++) all[places[parent[node]!]!++] = node;
  return (node) => {
    const found = Array.from(all.subarray(first[node], first[node + 1]));
    return found.sort((a, b) => total[b]! - total[a]! || a - b);
  };
}

/** Adds what nodes have to all that lead to them. */
export function addUp({ value, variance, uncertain, samples }: Sums, parent: Uint32Array, size: number): void {
  for (let node = size - 1; node > 0; node--) {
    const outer = parent[node]!;
    value[outer]! += value[node]!;
    variance[outer]! += variance[node]!;
    uncertain[outer]! += uncertain[node]!;
    samples[outer]! += samples[node]!;
  }
}

/** The tree from the outermost functions down to the callsites. `byNode` is what each backtrace has. */
export function downwards(shaped: Shaped, byNode: Sums): { branches: Branches; of: Uint32Array } {
  const { tree } = shaped;
  const own = byNode.value.slice();
  addUp(byNode, tree.parent, tree.size);
  const of = new Uint32Array(tree.size);
  const kept: number[] = [0];
  for (let node = 1; node < tree.size; node++) {
    if (byNode.value[node] === 0) continue;
    of[node] = kept.length;
    kept.push(node);
  }
  const pick = (from: Float64Array) => Float64Array.from(kept, (node) => from[node]!);
  const total = {
    samples: Uint32Array.from(kept, (node) => byNode.samples[node]!),
    value: pick(byNode.value),
    variance: pick(byNode.variance),
    uncertain: pick(byNode.uncertain),
  };
  const parent = kept.map((node) => (node === 0 ? 0 : of[tree.parent[node]!]!));
  const look = kept.map((node) => (node === 0 ? 0 : tree.label[node]!));
  return { branches: { parent, look, total, own: pick(own) }, of };
}
