// The trees of all runs of two sides laid over each other by the names of functions, and what changed at each node.

import type { Difference as Api, Line } from "../api";
import { type Accounts, throughNodes } from "../callsites";
import { measured, Z95 } from "../estimate";
import { estimateAt, newSums, type Sums } from "../holdings";
import { PrefixTree } from "../prefix_tree";
import type { Shaped } from "../shape";
import { childrenOf, linesOf } from "../tree";
import { benjaminiHochberg, difference, halfWidth, pValueOf, varianceOfTwo } from "./compare";
import { LEVEL } from "./places";
import { rebuiltName } from "./rebuilt";

/** A run of a side. */
export interface TreeRun {
  accounts: Accounts;
  grain: number;
}

/** What a run has in the common tree. */
interface Laid {
  sums: Readonly<Sums>;
  grain: number;
}

export function compareTrees(before: TreeRun[], after: TreeRun[]): Api["tree"] {
  const common = commonTree([...before, ...after].map(({ accounts }) => accounts.sites.shaped));
  const size = common.parent.length;
  const laid = (side: TreeRun[]) =>
    side.map(({ accounts, grain }): Laid => ({ sums: moved(throughNodes(accounts), common.of(accounts.sites.shaped), size), grain }));
  const changes = new Changes(size);
  const [one, other] = [laid(before), laid(after)];
  if (one.length === 1 && other.length === 1) changes.ofTwo(one[0]!, other[0]!);
  else changes.ofSeveral(one, other);
  const { larger, variance } = changes;
  return {
    parent: common.parent,
    line: common.line,
    depth: common.depth,
    total: larger,
    own: ownOf(larger, common.parent),
    variance,
    samples: new Uint32Array(size),
    lines: common.lines,
    interval: (node) => measured(changes.after[node]! - changes.before[node]!, variance[node]!, 0),
    children: childrenOf(common.parent, larger),
    meanLifetime: () => null,
    before: changes.before,
    after: changes.after,
    changeInterval: changes.interval,
    ...changes.corrected(),
  };
}

/** Nodes by the names of functions. */
class CommonTree {
  readonly parent: Uint32Array;
  readonly line: Uint32Array;
  readonly depth: Uint16Array;
  readonly lines: Line[] = [];
  private readonly nodes = new Map<PrefixTree, Uint32Array>();
  private readonly ids = new Map<string, number>();

  constructor(shapes: Shaped[]) {
    const tree = new PrefixTree();
    for (const shaped of shapes) if (!this.nodes.has(shaped.tree)) this.nodes.set(shaped.tree, this.lay(shaped, tree));
    this.parent = tree.parent.slice(0, tree.size);
    this.line = tree.label.slice(0, tree.size);
    this.depth = new Uint16Array(tree.size);
    for (let node = 1; node < tree.size; node++) this.depth[node] = Math.min(0xffff, this.depth[this.parent[node]!]! + 1);
  }

  /** The nodes that those of a run's tree have become. */
  of(shaped: Shaped): Uint32Array {
    return this.nodes.get(shaped.tree)!;
  }

  private lay(shaped: Shaped, into: PrefixTree): Uint32Array {
    const { tree } = shaped;
    const ids = Uint32Array.from(linesOf(shaped), (line) => this.id(line));
    const nodes = new Uint32Array(tree.size);
    for (let node = 1; node < tree.size; node++) {
      nodes[node] = into.child(nodes[tree.parent[node]!]!, ids[tree.label[node]!]!);
    }
    return nodes;
  }

  private id(line: Line): number {
    // The number of a frame without a name is an address, which means nothing in another run.
    const { code: _, ...place } = line;
    const name = line.function === null ? "(unknown frame)" : rebuiltName(line.function);
    const known = this.ids.get(name);
    if (known !== undefined) return known;
    const id = this.lines.length;
    this.ids.set(name, id);
    this.lines.push({ ...place, id, function: line.function === null ? null : name, file: null, line: null });
    return id;
  }
}

/** The one that was made last: ranges of one trace have the same backtraces. */
let last: { trees: PrefixTree[]; common: CommonTree } | null = null;

function commonTree(shapes: Shaped[]): CommonTree {
  const trees = [...new Set(shapes.map(({ tree }) => tree))];
  const isSame = last !== null && last.trees.length === trees.length && trees.every((tree, at) => tree === last!.trees[at]);
  if (!isSame) last = { trees, common: new CommonTree(shapes) };
  return last!.common;
}

/** What nodes have when they have become others. */
function moved(from: Readonly<Sums>, to: Uint32Array, size: number): Sums {
  const sums = newSums(size);
  for (let node = 0; node < to.length; node++) {
    const at = to[node]!;
    sums.samples[at]! += from.samples[node]!;
    sums.value[at]! += from.value[node]!;
    sums.variance[at]! += from.variance[node]!;
    sums.uncertain[at]! += from.uncertain[node]!;
  }
  return sums;
}

function ownOf(larger: Float64Array, parent: Uint32Array): Float64Array {
  const own = larger.slice();
  for (let node = 1; node < own.length; node++) own[parent[node]!]! -= larger[node]!;
  for (let node = 0; node < own.length; node++) if (own[node]! < 0) own[node] = 0;
  return own;
}

/** By node. */
class Changes {
  readonly before: Float64Array;
  readonly after: Float64Array;
  readonly larger: Float64Array;
  readonly interval: Float64Array;
  readonly variance: Float64Array;
  private readonly pValue: Float64Array;

  constructor(size: number) {
    const column = () => new Float64Array(size);
    [this.before, this.after, this.larger] = [column(), column(), column()];
    [this.interval, this.variance, this.pValue] = [column(), column(), column().fill(1)];
  }

  /** What difference says of one run a side, without a word of it in between. */
  ofTwo(one: Laid, other: Laid): void {
    const [was, is] = [one.sums, other.sums];
    for (let node = 0; node < this.before.length; node++) {
      if (was.samples[node] === 0 && is.samples[node] === 0) continue;
      const [a, b] = [was.value[node]!, is.value[node]!];
      const variance = varianceOfTwo(a, was.variance[node]!, one.grain, b, is.variance[node]!, other.grain);
      this.set(node, a, b, halfWidth(variance), pValueOf(b - a, variance));
    }
  }

  ofSeveral(one: Laid[], other: Laid[]): void {
    const runs = (side: Laid[], node: number) => side.map(({ sums, grain }) => ({ estimate: estimateAt(sums, node), grain }));
    for (let node = 0; node < this.before.length; node++) {
      if (![...one, ...other].some(({ sums }) => sums.samples[node]! > 0)) continue;
      const found = difference(runs(one, node), runs(other, node));
      this.set(node, found.before, found.after, found.interval, found.pValue);
    }
  }

  private set(node: number, before: number, after: number, interval: number, pValue: number): void {
    this.before[node] = before;
    this.after[node] = after;
    this.larger[node] = Math.max(before, after);
    this.interval[node] = interval;
    this.variance[node] = (interval / Z95) ** 2;
    this.pValue[node] = pValue;
  }

  /** Corrected for the number of nodes that changed. */
  corrected(): { pValue: Float64Array; significant: Uint8Array } {
    const changed: number[] = [];
    for (let node = 1; node < this.before.length; node++) if (this.after[node] !== this.before[node]) changed.push(node);
    const found = benjaminiHochberg(Float64Array.from(changed, (node) => this.pValue[node]!));
    const [pValue, significant] = [new Float64Array(this.before.length).fill(1), new Uint8Array(this.before.length)];
    changed.forEach((node, rank) => {
      pValue[node] = found[rank]!;
      significant[node] = Number(found[rank]! <= LEVEL);
    });
    return { pValue, significant };
  }
}
