// The tree from callsites, or other places in backtraces, up to their callers. It is grown from what is large to what is
// small, so that of a very large one the smallest ends are missing.

import { newSums, type Sums } from "./holdings";
import { LEFT_OUT, type Shaped } from "./shape";
import type { Branches } from "./tree";

/** So many nodes are shown at most. */
const MOST_NODES = 50_000;

/** Backtraces that go on from a node: a list of their beginnings, each of which is in one list at a time. */
interface Item {
  parent: number;
  look: number;
  total: number;
  /** In which order items were met. */
  order: number;
  /** The first and the last of its beginnings. */
  first: number;
  last: number;
}

/** `begin` says where each backtrace, by node, begins; `LEFT_OUT` if it is not there. */
export function upwards(shaped: Shaped, byNode: Readonly<Sums>, begin: Uint32Array): Branches {
  const beginnings = gathered(byNode, begin, shaped.tree.size);
  const grown = new Growing(shaped, beginnings.nodes, beginnings.sums);
  const waiting = new Heap();
  waiting.push(grown.root());
  for (let item = waiting.pop(); item !== null && grown.size < MOST_NODES; item = waiting.pop()) {
    for (const child of grown.add(item)) waiting.push(child);
  }
  return grown.branches();
}

/** What backtraces have that begin at the same node, if that is anything. */
function gathered(byNode: Readonly<Sums>, begin: Uint32Array, size: number): { nodes: Uint32Array; sums: Sums } {
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

const END = 0xffff_ffff;

class Growing {
  private readonly own: number[] = [];
  private readonly parent: number[] = [];
  private readonly look: number[] = [];
  private readonly value: number[] = [];
  private readonly variance: number[] = [];
  private readonly uncertain: number[] = [];
  private readonly samples: number[] = [];
  /** By beginning: the next one in its list. */
  private readonly next: Uint32Array;
  /** By look: the item of it while a list is divided. */
  private readonly itemOf: (Item | undefined)[];
  private items = 0;

  constructor(
    private readonly shaped: Shaped,
    /** By beginning: how far it has come outwards. */
    private readonly at: Uint32Array,
    private readonly sums: Sums,
  ) {
    this.next = Uint32Array.from(at, (_, index) => index + 1);
    if (at.length > 0) this.next[at.length - 1] = END;
    this.itemOf = shaped.looks.map(() => undefined);
  }

  get size(): number {
    return this.parent.length;
  }

  /** Everything. */
  root(): Item {
    const count = this.at.length;
    return { parent: 0, look: 0, total: Infinity, order: this.items++, first: count > 0 ? 0 : END, last: count - 1 };
  }

  /** Makes a node of an item; what goes on from there, by look. */
  add(item: Item): Item[] {
    const { at, next, itemOf } = this;
    const { label, parent } = this.shaped.tree;
    const node = this.size;
    const below: Item[] = [];
    let [value, variance, uncertain, samples, own] = [0, 0, 0, 0, 0];
    for (let beginning = item.first; beginning !== END; ) {
      const following = next[beginning]!;
      const amount = this.sums.value[beginning]!;
      value += amount;
      variance += this.sums.variance[beginning]!;
      uncertain += this.sums.uncertain[beginning]!;
      samples += this.sums.samples[beginning]!;
      const here = at[beginning]!;
      if (here === 0) own += amount;
      else {
        const look = label[here]!;
        const child = itemOf[look];
        next[beginning] = END;
        at[beginning] = parent[here]!;
        if (child !== undefined) {
          child.total += amount;
          next[child.last] = beginning;
          child.last = beginning;
        } else {
          itemOf[look] = { parent: node, look, total: amount, order: this.items++, first: beginning, last: beginning };
          below.push(itemOf[look]);
        }
      }
      beginning = following;
    }
    for (const { look } of below) itemOf[look] = undefined;
    this.value.push(value);
    this.variance.push(variance);
    this.uncertain.push(uncertain);
    this.samples.push(samples);
    this.own.push(own);
    this.look.push(item.look);
    this.parent.push(item.parent);
    return below;
  }

  branches(): Branches {
    const numbers = (from: number[]) => Float64Array.from(from);
    const total = {
      samples: Uint32Array.from(this.samples),
      value: numbers(this.value),
      variance: numbers(this.variance),
      uncertain: numbers(this.uncertain),
    };
    return { parent: Uint32Array.from(this.parent), look: Uint32Array.from(this.look), total, own: numbers(this.own) };
  }
}

/** Items, the greatest first; of equal ones the first. */
class Heap {
  private readonly items: Item[] = [];

  push(item: Item): void {
    const { items } = this;
    let at = items.push(item) - 1;
    while (at > 0 && before(item, items[(at - 1) >> 1]!)) {
      items[at] = items[(at - 1) >> 1]!;
      at = (at - 1) >> 1;
    }
    items[at] = item;
  }

  pop(): Item | null {
    const { items } = this;
    const first = items[0];
    const last = items.pop();
    if (first === undefined || last === undefined) return null;
    if (items.length > 0) this.sink(last);
    return first;
  }

  private sink(item: Item): void {
    const { items } = this;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= items.length) break;
      if (child + 1 < items.length && before(items[child + 1]!, items[child]!)) child++;
      if (!before(items[child]!, item)) break;
      items[at] = items[child]!;
      at = child;
    }
    items[at] = item;
  }
}

function before(a: Item, b: Item): boolean {
  return a.total > b.total || (a.total === b.total && a.order < b.order);
}
