// All heavy sequences of frames, as a compressed tree (crates/analysis/src/statistics/repeats.rs): a sequence that is not
// one of its nodes is in the same backtraces as a longer one that is.

import { Doublings, type Sequence } from "./sequences";
import { NONE, type WeightedTree } from "./weighted";

/** A heavy sequence: a node of the compressed tree. */
export interface Class {
  length: number;
  /** The first node where it ends. */
  example: number;
  /** The longest class that is its inner end. */
  parent: number;
}

/** The empty sequence. */
export const EMPTY = 0;

export class Repeats {
  readonly classes: Class[];
  /** By node: the class of the longest heavy sequence that ends there. */
  readonly longest: Uint32Array;
  /** All classes, the shortest first. */
  readonly ascending: number[];
  /** By class: a shorter inner end, such that any is reached in few leaps. */
  private readonly leaps: Uint32Array;
  /** By class: where it ends itself, without what is longer. */
  private readonly own: number[][];
  private readonly below: number[][];

  constructor(tree: WeightedTree, threshold: number) {
    const doublings = Doublings.of(tree, threshold);
    const { sequences, byNode } = doublings.longest(tree, threshold);
    const { classes, of } = assemble(doublings, sequences, byNode);
    this.classes = classes;
    this.longest = byNode.map((sequence) => of[sequence]!);
    this.ascending = classes.map((_, at) => at).sort((a, b) => classes[a]!.length - classes[b]!.length || a - b);
    this.leaps = leapsOf(classes, this.ascending);
    this.own = classes.map(() => []);
    this.below = classes.map(() => []);
    this.longest.forEach((at, node) => this.own[at]!.push(node));
    classes.forEach(({ parent }, at) => at !== EMPTY && this.below[parent]!.push(at));
  }

  /** All nodes where a class ends, in order. */
  ends(at: number): number[] {
    const nodes: number[] = [];
    const waiting = [at];
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      for (const node of this.own[next]!) nodes.push(node);
      waiting.push(...this.below[next]!);
    }
    return nodes.sort((a, b) => a - b);
  }

  /** The longest inner end of a class that has at most so many frames. */
  shortened(from: number, length: number): number {
    let at = from;
    while (this.classes[at]!.length > length) {
      const leap = this.leaps[at]!;
      at = this.classes[leap]!.length > length ? leap : this.classes[at]!.parent;
    }
    return at;
  }
}

function leapsOf(classes: Class[], ascending: number[]): Uint32Array {
  const [leaps, depths] = [new Uint32Array(classes.length), new Uint32Array(classes.length)];
  for (const at of ascending) {
    if (at === EMPTY) continue;
    const { parent } = classes[at]!;
    const leap = leaps[parent]!;
    const further = leaps[leap]!;
    const alike = depths[parent]! - depths[leap]! === depths[leap]! - depths[further]!;
    leaps[at] = alike ? further : parent;
    depths[at] = depths[parent]! + 1;
  }
  return leaps;
}

/** The compressed tree of all sequences that are some node's longest, and the class of each. */
function assemble(
  doublings: Doublings,
  sequences: Sequence[],
  byNode: Uint32Array,
): { classes: Class[]; of: Uint32Array } {
  const used = new Uint8Array(sequences.length);
  for (const sequence of byNode) used[sequence] = 1;
  const order = sequences.map((_, at) => at).filter((at) => at !== EMPTY && used[at] === 1);
  order.sort((a, b) => doublings.compare(sequences[a]!, sequences[b]!));
  const builder = new Builder();
  const of = new Uint32Array(sequences.length);
  let previous = sequences[EMPTY]!;
  for (const at of order) {
    const sequence = sequences[at]!;
    of[at] = builder.add(sequence, doublings.common(previous, sequence)[0]);
    previous = sequence;
  }
  return { classes: builder.classes, of };
}

/** Makes a compressed tree of sorted sequences. */
class Builder {
  readonly classes: Class[] = [{ length: 0, example: NONE, parent: EMPTY }];
  /** The last class and its inner ends, the shortest first. */
  private readonly open = [EMPTY];

  /** The next sequence, which has `common` innermost frames in common with the one before. */
  add({ example, length }: Sequence, common: number): number {
    this.close(example, common);
    return this.push(example, length);
  }

  /** Leaves classes that are longer than `common`, and makes one of that length if there is none. */
  private close(example: number, common: number): void {
    let last: number | null = null;
    while (this.top().length > common) last = this.open.pop()!;
    if (last === null || this.top().length >= common) return;
    this.classes[last]!.parent = this.push(example, common);
  }

  private push(example: number, length: number): number {
    const parent = this.open.at(-1) ?? EMPTY;
    const at = this.classes.push({ length, example, parent }) - 1;
    this.open.push(at);
    return at;
  }

  /** The longest open class; the empty one is never closed. */
  private top(): Class {
    return this.classes[this.open.at(-1) ?? EMPTY]!;
  }
}
