// The longest heavy sequence of frames that ends at each node (crates/analysis/src/statistics/repeats.rs): put together of
// classes of the lengths 1, 2, 4, 8... A sequence is heavy if the backtraces that contain it weigh at least a threshold.

import { Cover, NONE, type WeightedTree } from "./weighted";

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

/** Puts nodes of equal keys into a class; `NONE` for those without a key (-1), and for light classes. */
function heavyClasses(
  tree: WeightedTree,
  key: (node: number) => number,
  isHeavy: (key: number, weight: number) => boolean,
): Uint32Array {
  const numbers = new Map<number, number>();
  const covers: { key: number; cover: Cover }[] = [];
  const classes = new Uint32Array(tree.count).fill(NONE);
  for (let node = 0; node < tree.count; node++) {
    const at = key(node);
    if (at < 0) continue;
    let number = numbers.get(at);
    if (number === undefined) {
      number = covers.push({ key: at, cover: new Cover() }) - 1;
      numbers.set(at, number);
    }
    covers[number]!.cover.add(tree, node);
    classes[node] = number;
  }
  const heavy = covers.map(({ key, cover }) => isHeavy(key, cover.weight));
  return classes.map((number) => (number === NONE || !heavy[number] ? NONE : number));
}

export class Doublings {
  private constructor(
    private readonly all: Doubling[],
    /** More than any class or node. */
    private readonly span: number,
  ) {}

  static of(tree: WeightedTree, threshold: number): Doublings {
    const span = tree.count + 1;
    const isHeavy = (_: number, weight: number) => weight >= threshold;
    let last: Doubling = { class: heavyClasses(tree, (node) => tree.label[node]!, isHeavy), beyond: tree.parent.slice() };
    const all: Doubling[] = [];
    while (last.class.some((number) => number !== NONE)) {
      all.push(last);
      const { class: inner, beyond } = last;
      const both = (node: number) => {
        const outer = inner[node] === NONE || beyond[node] === NONE ? NONE : inner[beyond[node]!]!;
        return outer === NONE ? -1 : pair(inner[node]!, outer, span);
      };
      const further = beyond.map((node) => (node === NONE ? NONE : beyond[node]!));
      last = { class: heavyClasses(tree, both, isHeavy), beyond: further };
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
    this.beyond = Uint32Array.from({ length: tree.count }, (_, node) => node);
  }

  /** Makes sequences longer by so much, where that is heavy. What has gone on is heavy since the longer one is. */
  extend(doubling: Doubling, length: number): void {
    const goneOn = this.goneOn(doubling);
    const key = (node: number) => {
      const at = this.beyond[node]!;
      const number = at === NONE ? NONE : doubling.class[at]!;
      return number === NONE ? -1 : pair(this.byNode[node]!, number, this.span);
    };
    const classes = heavyClasses(this.tree, key, (at, weight) => weight >= this.threshold || goneOn.has(at));
    const numbers = new Map<number, number>();
    for (let node = 0; node < classes.length; node++) {
      if (classes[node] === NONE) continue;
      const at = this.beyond[node]!;
      const from = this.byNode[node]!;
      let number = numbers.get(classes[node]!);
      if (number === undefined) {
        const others = goneOn.get(pair(from, doubling.class[at]!, this.span)) ?? [];
        number = this.add(from, node, others, doubling, length);
        numbers.set(classes[node]!, number);
      }
      this.byNode[node] = number;
      this.beyond[node] = doubling.beyond[at]!;
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
