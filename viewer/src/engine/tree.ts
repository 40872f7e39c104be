// Trees of callers and callees as typed arrays (crates/analysis/src/branches.rs).

import type { Line, Measured, Tree } from "./api";
import { measured } from "./estimate";
import type { Sums } from "./holdings";
import { lineOf, type Shaped } from "./shape";

/** Nodes while a tree is made; parents before children, the root first. */
export interface Branches {
  parent: Uint32Array;
  /** Look of each; of the root nothing. */
  look: Uint32Array;
  /** What came through, and what of it goes no further. */
  total: Sums;
  own: Float64Array;
}

/** The lifetimes of what came through a node; looked at for colours only. */
export type MeanLifetimes = () => { bytes: Float64Array; byteSeconds: Float64Array };

export function treeOf(shaped: Shaped, branches: Branches, lifetimes: MeanLifetimes): Tree {
  const { parent, look: line } = branches;
  const depth = new Uint16Array(parent.length);
  for (let node = 1; node < parent.length; node++) depth[node] = Math.min(0xffff, depth[parent[node]!]! + 1);
  const { value, variance, uncertain, samples } = branches.total;
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
    children: childrenOf(parent, value),
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

/** Those of each node that have most first; where they are is found when it is asked for. */
export function childrenOf(parent: Uint32Array, total: Float64Array): (node: number) => number[] {
  let known: Children | null = null;
  return (node) => {
    const { first, all } = (known ??= childrenOfAll(parent));
    const found = Array.from(all.subarray(first[node], first[node + 1]));
    return found.sort((a, b) => total[b]! - total[a]! || a - b);
  };
}

/** Children, one node's after the other's; by node where they begin, and one more. */
interface Children {
  first: Uint32Array;
  all: Uint32Array;
}

function childrenOfAll(parent: Uint32Array): Children {
  const first = new Uint32Array(parent.length + 1);
  for (let node = 1; node < parent.length; node++) first[parent[node]! + 1]!++;
  for (let node = 0; node < parent.length; node++) first[node + 1]! += first[node]!;
  const places = first.slice();
  const all = new Uint32Array(Math.max(0, parent.length - 1));
  for (let node = 1; node < parent.length; node++) all[places[parent[node]!]!++] = node;
  return { first, all };
}

/** The tree from the outermost functions down to the callsites. `byNode` is what each backtrace has, `through` what came
 * through it. */
export function downwards(shaped: Shaped, byNode: Readonly<Sums>, through: Readonly<Sums>): { branches: Branches; of: Uint32Array } {
  const { tree } = shaped;
  const of = new Uint32Array(tree.size);
  const kept = new Uint32Array(tree.size);
  let count = 1;
  for (let node = 1; node < tree.size; node++) {
    if (through.value[node] === 0) continue;
    of[node] = count;
    kept[count++] = node;
  }
  const pick = (from: Float64Array) => picked(from, kept, new Float64Array(count));
  const total = {
    samples: picked(through.samples, kept, new Uint32Array(count)),
    value: pick(through.value),
    variance: pick(through.variance),
    uncertain: pick(through.uncertain),
  };
  const parent = picked(of, picked(tree.parent, kept, new Uint32Array(count)), new Uint32Array(count));
  const look = picked(tree.label, kept, new Uint32Array(count));
  return { branches: { parent, look, total, own: pick(byNode.value) }, of };
}

/** What stands at these places. */
function picked<T extends Float64Array | Uint32Array>(from: T, at: Uint32Array, into: T): T {
  for (let index = 0; index < into.length; index++) into[index] = from[at[index]!]!;
  return into;
}
