// The tree from callsites, or other places in backtraces, up to their callers. It is grown from what is large to what is
// small, so that of a very large one the smallest ends are missing.

import { newSums, type Sums } from "./holdings";
import { LEFT_OUT, type Shaped } from "./shape";
import type { Branches } from "./tree";

/** So many nodes are shown at most. */
const MOST_NODES = 50_000;

/** Backtraces that go on from a node: where each is, and of which beginning. */
interface Item {
  parent: number;
  look: number;
  total: number;
  at: number[];
  beginning: number[];
}

/** `begin` says where each backtrace, by node, begins; `LEFT_OUT` if it is not there. */
export function upwards(shaped: Shaped, byNode: Sums, begin: Uint32Array): Branches {
  const { tree } = shaped;
  const beginnings = gathered(byNode, begin, tree.size);
  const all = Array.from(beginnings.nodes);
  const grown = new Growing(beginnings.sums);
  const waiting = new Heap();
  waiting.push({ parent: 0, look: 0, total: Infinity, at: all, beginning: all.map((_, index) => index) });
  for (let item = waiting.pop(); item !== null && grown.size < MOST_NODES; item = waiting.pop()) {
    const node = grown.add(item);
    const below = new Map<number, Item>();
    for (let index = 0; index < item.at.length; index++) {
      const [at, beginning] = [item.at[index]!, item.beginning[index]!];
      const value = beginnings.sums.value[beginning]!;
      if (at === 0) {
        grown.own[node]! += value;
        continue;
      }
      const look = tree.label[at]!;
      let child = below.get(look);
      if (child === undefined) below.set(look, (child = { parent: node, look, total: 0, at: [], beginning: [] }));
      child.total += value;
      child.at.push(tree.parent[at]!);
      child.beginning.push(beginning);
    }
    for (const child of below.values()) waiting.push(child);
  }
  return grown.branches();
}

/** What backtraces have that begin at the same node, if that is anything. */
function gathered(byNode: Sums, begin: Uint32Array, size: number): { nodes: Uint32Array; sums: Sums } {
  const number = new Uint32Array(size).fill(LEFT_OUT);
  const nodes: number[] = [];
  for (let node = 0; node < size; node++) {
    const at = begin[node]!;
    if (byNode.value[node] === 0 || at === LEFT_OUT || number[at] !== LEFT_OUT) continue;
    number[at] = nodes.length;
    nodes.push(at);
  }
  const sums = newSums(nodes.length);
  for (let node = 0; node < size; node++) {
    if (byNode.value[node] === 0 || begin[node] === LEFT_OUT) continue;
    const at = number[begin[node]!]!;
    sums.samples[at]! += byNode.samples[node]!;
    sums.value[at]! += byNode.value[node]!;
    sums.variance[at]! += byNode.variance[node]!;
    sums.uncertain[at]! += byNode.uncertain[node]!;
  }
  return { nodes: Uint32Array.from(nodes), sums };
}

class Growing {
  readonly own: number[] = [];
  private readonly parent: number[] = [];
  private readonly look: number[] = [];
  private readonly value: number[] = [];
  private readonly variance: number[] = [];
  private readonly uncertain: number[] = [];
  private readonly samples: number[] = [];

  constructor(private readonly of: Sums) {}

  get size(): number {
    return this.parent.length;
  }

  add(item: Item): number {
    let [value, variance, uncertain, samples] = [0, 0, 0, 0];
    for (const beginning of item.beginning) {
      value += this.of.value[beginning]!;
      variance += this.of.variance[beginning]!;
      uncertain += this.of.uncertain[beginning]!;
      samples += this.of.samples[beginning]!;
    }
    this.value.push(value);
    this.variance.push(variance);
    this.uncertain.push(uncertain);
    this.samples.push(samples);
    this.own.push(0);
    this.look.push(item.look);
    return this.parent.push(item.parent) - 1;
  }

  branches(): Branches {
    const numbers = (from: number[]) => Float64Array.from(from);
    const total = {
      samples: Uint32Array.from(this.samples),
      value: numbers(this.value),
      variance: numbers(this.variance),
      uncertain: numbers(this.uncertain),
    };
    return { parent: this.parent, look: this.look, total, own: numbers(this.own) };
  }
}

/** Items, the greatest first; of equal ones the first. */
class Heap {
  private readonly items: { item: Item; order: number }[] = [];
  private count = 0;

  push(item: Item): void {
    const { items } = this;
    const entry = { item, order: this.count++ };
    let at = items.push(entry) - 1;
    while (at > 0 && before(entry, items[(at - 1) >> 1]!)) {
      items[at] = items[(at - 1) >> 1]!;
      at = (at - 1) >> 1;
    }
    items[at] = entry;
  }

  pop(): Item | null {
    const { items } = this;
    const first = items[0];
    const last = items.pop();
    if (first === undefined || last === undefined) return null;
    if (items.length > 0) this.sink(last);
    return first.item;
  }

  private sink(entry: { item: Item; order: number }): void {
    const { items } = this;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= items.length) break;
      if (child + 1 < items.length && before(items[child + 1]!, items[child]!)) child++;
      if (!before(items[child]!, entry)) break;
      items[at] = items[child]!;
      at = child;
    }
    items[at] = entry;
  }
}

function before(a: { item: Item; order: number }, b: { item: Item; order: number }): boolean {
  return a.item.total > b.item.total || (a.item.total === b.item.total && a.order < b.order);
}
