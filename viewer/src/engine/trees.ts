// The trees that the interface asks for: from the outermost functions, from the callsites, and around one function.

import type { Measured, Tree } from "./api";
import { type Accounts, sum, throughNodes, valuesByNode } from "./callsites";
import { measured } from "./estimate";
import type { FramePattern } from "./filter/term";
import { addedUp, newSums, sumMetric, type Sums } from "./holdings";
import { PrefixTree } from "./prefix_tree";
import { cut, endsOf, LEFT_OUT, type Shaped } from "./shape";
import { type Branches, downwards, treeOf } from "./tree";
import { upwards } from "./tree_up";

/** Callsites first, or the outermost frames first. */
export function tree(accounts: Accounts, inverted: boolean): Tree {
  const { shaped, begin } = accounts.sites;
  const values = valuesByNode(accounts);
  if (inverted) return upTree(accounts, shaped, values, begin);
  return downTree(shaped, values, throughNodes(accounts), (metric) => throughNodes({ ...accounts, metric }));
}

function downTree(
  shaped: Shaped,
  values: Readonly<Sums>,
  through: Readonly<Sums>,
  throughOf: (metric: "allocated" | "byte-seconds") => Readonly<Sums>,
): Tree {
  const { branches, of } = downwards(shaped, values, through);
  return treeOf(shaped, branches, () => {
    const means = (metric: "allocated" | "byte-seconds") => {
      const found = throughOf(metric);
      const picked = new Float64Array(branches.parent.length);
      for (let node = 1; node < of.length; node++) if (of[node] !== 0) picked[of[node]!] = found.value[node]!;
      picked[0] = found.value[0]!;
      return picked;
    };
    return { bytes: means("allocated"), byteSeconds: means("byte-seconds") };
  });
}

function upTree(accounts: Accounts, shaped: Shaped, values: Readonly<Sums>, begin: Uint32Array): Tree {
  const branches = upwards(shaped, values, begin);
  return treeOf(shaped, branches, () => ({
    bytes: throughUp(accounts, shaped, branches, begin, "allocated"),
    byteSeconds: throughUp(accounts, shaped, branches, begin, "byte-seconds"),
  }));
}

/** What came through the nodes of a tree of callers, of another metric. */
function throughUp(
  { parts }: Accounts,
  shaped: Shaped,
  branches: Branches,
  begin: Uint32Array,
  metric: "allocated" | "byte-seconds",
): Float64Array {
  const { tree: backtraces } = shaped;
  const sums = sumMetric(parts, backtraces.size, metric);
  const below = new Map<number, number>();
  const key = (parent: number, look: number) => parent * shaped.looks.length + look;
  for (let node = 1; node < branches.parent.length; node++) below.set(key(branches.parent[node]!, branches.look[node]!), node);
  const found = new Float64Array(branches.parent.length);
  for (let backtrace = 0; backtrace < backtraces.size; backtrace++) {
    const value = sums.value[backtrace]!;
    if (value === 0 || begin[backtrace] === LEFT_OUT) continue;
    let node: number | undefined = 0;
    found[0]! += value;
    for (let at = begin[backtrace]!; at !== 0; at = backtraces.parent[at]!) {
      node = below.get(key(node, backtraces.label[at]!));
      if (node === undefined) break;
      found[node]! += value;
    }
  }
  return found;
}

/** Callers and callees of one function, from its outermost call in each backtrace on. The roots of both are the function. */
export function sandwich(accounts: Accounts, functionName: string): { callers: Tree; callees: Tree; total: Measured } {
  const { shaped } = accounts.sites;
  const pattern: FramePattern = { about: "fn", name: { operator: "=", text: functionName, pattern: null } };
  const values = valuesByNode(accounts);
  const beyond = endsOf(shaped, [[pattern]]).map((end) => (end === LEFT_OUT ? end : shaped.tree.parent[end]!));
  const callers = upTree(accounts, shaped, values, beyond);
  const within = below(cut(shaped, [[pattern]], identity(shaped.tree.size)));
  const moved = (from: Readonly<Sums>) => movedTo(from, within.of, within.tree.size);
  const through = moved(values);
  const added = (sums: Sums) => addedUp(sums, within.tree.parent);
  const callees = downTree(within, through, added(through), (metric) => added(moved(valuesByNode({ ...accounts, metric }))));
  const total = measured(sum(through.value), sum(through.variance), sum(through.uncertain));
  return { callers, callees, total };
}

/** Backtraces without their outermost lines. */
function below(shaped: Shaped): Shaped {
  const tree = new PrefixTree();
  const moved = new Uint32Array(shaped.tree.size);
  for (let node = 1; node < moved.length; node++) {
    const outer = shaped.tree.parent[node]!;
    if (outer !== 0) moved[node] = tree.child(moved[outer]!, shaped.tree.label[node]!);
  }
  return { ...shaped, tree, of: shaped.of.map((node) => (node === LEFT_OUT ? LEFT_OUT : moved[node]!)) };
}

function identity(size: number): Uint32Array {
  return new Uint32Array(size).map((_, node) => node);
}

function movedTo(from: Readonly<Sums>, to: Uint32Array, size: number): Sums {
  const sums = newSums(size);
  for (let node = 0; node < to.length; node++) {
    const at = to[node]!;
    if (at === LEFT_OUT) continue;
    sums.samples[at]! += from.samples[node]!;
    sums.value[at]! += from.value[node]!;
    sums.variance[at]! += from.variance[node]!;
    sums.uncertain[at]! += from.uncertain[node]!;
  }
  return sums;
}
