// A prefix tree of backtraces with weights, in preorder: a subtree is a range of nodes
// (crates/analysis/src/statistics/weighted_tree.rs). Backtraces without weight are left out, and if there are more nodes
// than wanted, the lightest: a backtrace whose end is left out counts as its rest.

import type { PrefixTree } from "../prefix_tree";

/** In place of a node or class: none. */
export const NONE = 0xffff_ffff;

export interface WeightedTree {
  count: number;
  /** What it was in the tree of backtraces. */
  origin: Uint32Array;
  /** `NONE` for outermost frames. */
  parent: Uint32Array;
  /** Equal frames have equal labels. */
  label: Uint32Array;
  /** The first node after those below this one. */
  end: Uint32Array;
  /** Weight of all backtraces that begin with this one. */
  weight: Float64Array;
  total: number;
  /** Weight of those that were shortened. */
  shortened: number;
}

export function weigh(tree: PrefixTree, weights: Float64Array, most: number): WeightedTree {
  const sums = weights.map((weight) => Math.max(0, weight));
  for (let node = tree.size - 1; node > 0; node--) sums[tree.parent[node]!]! += sums[node]!;
  const kept = heaviest(sums, most);
  const sizes = new Uint32Array(kept);
  let shortened = 0;
  for (let node = tree.size - 1; node > 0; node--) {
    const parent = tree.parent[node]!;
    sizes[parent]! += sizes[node]!;
    if (kept[node] === 0 && kept[parent] === 1) shortened += sums[node]!;
  }
  const laid = layOut(tree, sums, kept, sizes);
  return { ...laid, total: sums[0]!, shortened };
}

/** A node is never heavier than its parent, and comes after it; so what is kept is a tree. */
function heaviest(sums: Float64Array, most: number): Uint8Array {
  const kept = new Uint8Array(sums.length);
  kept[0] = 1;
  let count = 0;
  for (let node = 1; node < sums.length; node++) if (sums[node]! > 0) count += kept[node] = 1;
  if (count <= most) return kept;
  const heavy = Uint32Array.from(sums.keys()).filter((node) => node > 0 && kept[node] === 1);
  heavy.sort((a, b) => sums[b]! - sums[a]! || a - b);
  for (const node of heavy.subarray(most)) kept[node] = 0;
  return kept;
}

function layOut(
  tree: PrefixTree,
  sums: Float64Array,
  kept: Uint8Array,
  sizes: Uint32Array,
): Omit<WeightedTree, "total" | "shortened"> {
  const count = sizes[0]! - 1;
  const column = () => new Uint32Array(count);
  const [origin, label, end, weight] = [column(), column(), column(), new Float64Array(count)];
  // Labels are numbered anew, in the order in which they are met.
  const labels = new Uint32Array(greatest(tree.label) + 1).fill(NONE);
  let met = 0;
  // Where each node's next child goes, and where the node itself went.
  const next = new Uint32Array(sizes.length);
  for (let node = 1; node < tree.size; node++) {
    if (kept[node] === 0) continue;
    const parent = tree.parent[node]!;
    const at = next[parent]!;
    next[parent]! += sizes[node]!;
    next[node] = at + 1;
    const named = tree.label[node]!;
    if (labels[named] === NONE) labels[named] = met++;
    [origin[at], label[at], end[at], weight[at]] = [node, labels[named]!, at + sizes[node]!, sums[node]!];
  }
  return { count, origin, parent: parents(end), label, end, weight };
}

function greatest(numbers: Uint32Array): number {
  let most = 0;
  for (let at = 0; at < numbers.length; at++) if (numbers[at]! > most) most = numbers[at]!;
  return most;
}

function parents(end: Uint32Array): Uint32Array {
  const parent = new Uint32Array(end.length).fill(NONE);
  const open: number[] = [];
  for (let node = 0; node < end.length; node++) {
    while (open.length > 0 && end[open.at(-1)!]! <= node) open.pop();
    parent[node] = open.at(-1) ?? NONE;
    open.push(node);
  }
  return parent;
}

/** The weight of a growing set of subtrees, each backtrace counted once. */
export class Cover {
  weight = 0;
  private end = 0;

  /** Adds the subtree of a node; nodes come in order. False if it was in the set already. */
  add(tree: WeightedTree, node: number): boolean {
    const isNew = node >= this.end;
    if (isNew) {
      this.weight += tree.weight[node]!;
      this.end = tree.end[node]!;
    }
    return isNew;
  }
}
