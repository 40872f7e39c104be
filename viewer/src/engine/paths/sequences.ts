// The longest heavy sequence of frames that ends at each node (crates/analysis/src/statistics/repeats.rs): put together of
// classes of the lengths 1, 2, 4, 8... A sequence is heavy if the backtraces that contain it weigh at least a threshold.

import { PrefixTree } from "../prefix_tree";
import { NONE, type WeightedTree } from "./weighted";

/** Classes of sequences of `1 << k` frames. */
interface Doubling {
  /** By node: its class, or `NONE` if the sequence that ends here is light or not so long. */
  class: Uint32Array;
  /** By node: the first node outside of the sequence. */
  beyond: Uint32Array;
}

/** A sequence that ends at a node. */
export interface Sequence {
  example: number;
  length: number;
  /** Longer heavy sequences of which this is the inner end: the first node of each outside of this one. */
  longer: number[];
}

/** A number for a pair of numbers, of which the second is less than `span`, or `NONE`. */
function pair(first: number, second: number, span: number): number {
  return first * (span + 1) + (second === NONE ? span : second);
}

/** Puts nodes of equal keys into a class, in the order in which they are met. A key is a pair of numbers; `NONE` for those
 * whose first one is none, and for light classes. */
function heavyClasses(
  tree: WeightedTree,
  first: Uint32Array,
  second: Uint32Array,
  isHeavy: (weight: number, first: number, second: number) => boolean,
): Uint32Array {
  const { count, weight, end } = tree;
  const pairs = new PrefixTree();
  // Of each class: what it weighs, and the end of the last subtree that counts for it.
  const [weights, ends] = [new Float64Array(count + 1), new Uint32Array(count + 1)];
  const classes = new Uint32Array(count).fill(NONE);
  for (let node = 0; node < count; node++) {
    if (first[node] === NONE) continue;
    const number = pairs.child(first[node]!, second[node]!);
    classes[node] = number;
    if (node < ends[number]!) continue;
    weights[number]! += weight[node]!;
    ends[number] = end[node]!;
  }
  const heavy = new Uint8Array(pairs.size);
  for (let at = 1; at < pairs.size; at++) heavy[at] = Number(isHeavy(weights[at]!, pairs.parent[at]!, pairs.label[at]!));
  for (let node = 0; node < count; node++) if (classes[node] !== NONE && heavy[classes[node]!] === 0) classes[node] = NONE;
  return classes;
}

/** Sequences of two of these. */
function doubled(tree: WeightedTree, { class: inner, beyond }: Doubling, isHeavy: (weight: number) => boolean): Doubling {
  const [first, outer, further] = [new Uint32Array(tree.count).fill(NONE), new Uint32Array(tree.count), new Uint32Array(tree.count)];
  for (let node = 0; node < tree.count; node++) {
    const next = beyond[node]!;
    further[node] = next === NONE ? NONE : beyond[next]!;
    if (next === NONE || inner[next] === NONE) continue;
    first[node] = inner[node]!;
    outer[node] = inner[next]!;
  }
  return { class: heavyClasses(tree, first, outer, isHeavy), beyond: further };
}

export class Doublings {
  private constructor(
    private readonly all: Doubling[],
    /** More than any class or node. */
    private readonly span: number,
  ) {}

  static of(tree: WeightedTree, threshold: number): Doublings {
    const span = tree.count + 1;
    const isHeavy = (weight: number) => weight >= threshold;
    const nothing = new Uint32Array(tree.count);
    let last: Doubling = { class: heavyClasses(tree, tree.label, nothing, isHeavy), beyond: tree.parent.slice() };
    const all: Doubling[] = [];
    while (last.class.some((number) => number !== NONE)) {
      all.push(last);
      last = doubled(tree, last, isHeavy);
    }
    return new Doublings(all, span);
  }

  /** The longest heavy sequences, and for each node which. */
  longest(tree: WeightedTree, threshold: number): { sequences: Sequence[]; byNode: Uint32Array } {
    const longest = new Longest(tree, threshold, this.span);
    for (let k = this.all.length - 1; k >= 0; k--) longest.extend(this.all[k]!, 2 ** k);
    return longest;
  }

  /** In the order of their frames, from the inner end outwards. */
  compare(a: Sequence, b: Sequence): number {
    const [common, beyondA, beyondB] = this.common(a, b);
    if (common === a.length || common === b.length) return a.length - b.length;
    return this.all[0]!.class[beyondA]! - this.all[0]!.class[beyondB]!;
  }

  /** How many of the innermost frames are equal, and the next nodes. */
  common(a: Sequence, b: Sequence): [number, number, number] {
    const most = Math.min(a.length, b.length);
    let [common, atA, atB] = [0, a.example, b.example];
    for (let k = this.all.length - 1; k >= 0; k--) {
      const { class: classes, beyond } = this.all[k]!;
      if (common + 2 ** k > most || classes[atA] !== classes[atB]) continue;
      common += 2 ** k;
      [atA, atB] = [beyond[atA]!, beyond[atB]!];
    }
    return [common, atA, atB];
  }
}

/** For each node the longest heavy sequence that is known to end there. */
class Longest {
  /** The first is the empty one. */
  readonly sequences: Sequence[] = [{ example: NONE, length: 0, longer: [] }];
  readonly byNode: Uint32Array;
  /** By node: the first node outside of its sequence. */
  private readonly beyond: Uint32Array;

  constructor(
    private readonly tree: WeightedTree,
    private readonly threshold: number,
    private readonly span: number,
  ) {
    this.byNode = new Uint32Array(tree.count);
    this.beyond = new Uint32Array(tree.count).map((_, node) => node);
  }

  /** Makes sequences longer by so much, where that is heavy. What has gone on is heavy since the longer one is. */
  extend(doubling: Doubling, length: number): void {
    const goneOn = this.goneOn(doubling);
    const { beyond, byNode } = this;
    const [from, next] = [new Uint32Array(beyond.length).fill(NONE), new Uint32Array(beyond.length)];
    for (let node = 0; node < beyond.length; node++) {
      const number = beyond[node] === NONE ? NONE : doubling.class[beyond[node]!]!;
      if (number === NONE) continue;
      from[node] = byNode[node]!;
      next[node] = number;
    }
    const goesOn = (first: number, second: number) => goneOn.has(pair(first, second, this.span));
    const classes = heavyClasses(
      this.tree,
      from,
      next,
      (weight, first, second) => weight >= this.threshold || goesOn(first, second),
    );
    const numbers = new Uint32Array(classes.length + 1);
    for (let node = 0; node < classes.length; node++) {
      if (classes[node] === NONE) continue;
      const at = beyond[node]!;
      let number = numbers[classes[node]!]!;
      if (number === 0) {
        const others = goneOn.get(pair(from[node]!, next[node]!, this.span)) ?? [];
        number = this.add(from[node]!, node, others, doubling, length);
        numbers[classes[node]!] = number;
      }
      byNode[node] = number;
      beyond[node] = doubling.beyond[at]!;
    }
  }

  /** Where sequences go on: by sequence and the class of what comes next. Keeps one of each. */
  private goneOn(doubling: Doubling): Map<number, number[]> {
    const goneOn = new Map<number, number[]>();
    this.sequences.forEach((sequence, number) => {
      sequence.longer = sequence.longer.filter((at) => {
        const key = pair(number, at === NONE ? NONE : doubling.class[at]!, this.span);
        const all = goneOn.get(key) ?? [];
        goneOn.set(key, all);
        return all.push(at) === 1;
      });
    });
    return goneOn;
  }

  /** A sequence that is longer than `from`, and that some `others` of those have as an inner end. */
  private add(from: number, node: number, others: number[], doubling: Doubling, length: number): number {
    const shorter = this.sequences[from]!;
    if (others.length === 0) shorter.longer.push(this.beyond[node]!);
    const longer = others.map((at) => doubling.beyond[at]!);
    return this.sequences.push({ example: node, length: shorter.length + length, longer }) - 1;
  }
}
