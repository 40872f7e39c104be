// Hot paths: the sequences of frames that explain most by themselves (crates/analysis/src/statistics/heavy.rs). Paths are
// looked at from the longest to the shortest; one is reported if the backtraces that contain it, without those that contain
// a reported longer one around it, weigh at least a given share.

import { EMPTY, Repeats } from "./repeats";
import { Cover, NONE, type WeightedTree } from "./weighted";

export interface HeavyPath {
  /** A backtrace that ends with it. */
  example: number;
  length: number;
  /** What no reported longer path around this one explains. */
  own: number;
  /** The outermost backtraces that end with it. */
  occurrences: number[];
}

export function heavyPaths(tree: WeightedTree, leastShare: number): HeavyPath[] {
  const threshold = Math.max(leastShare * tree.total, 2.2250738585072014e-308);
  const search = new Search(tree, new Repeats(tree, threshold));
  search.reportAll(threshold);
  const paths = search.reported.map((found) => search.path(found.at, found.own));
  return paths.sort((a, b) => b.own - a.own || b.length - a.length);
}

class Search {
  readonly reported: { at: number; own: number }[] = [];
  /** By class: the weight of all backtraces that contain it. */
  private readonly weights: Float64Array;
  /** By class: at least so much weight is explained by paths around it. */
  private readonly explained: Float64Array;
  /** By class: the reported classes around it, of which none is around another. */
  private readonly around: number[][];
  /** By class, of those that are reported: the outermost nodes where it ends, in order. */
  private readonly occurrences = new Map<number, number[]>();

  constructor(
    private readonly tree: WeightedTree,
    private readonly repeats: Repeats,
  ) {
    const count = repeats.classes.length;
    this.weights = this.weigh();
    this.explained = new Float64Array(count);
    this.around = Array.from({ length: count }, () => []);
  }

  private weigh(): Float64Array {
    const { classes, longest } = this.repeats;
    const covers = classes.map(() => new Cover());
    for (let node = 0; node < longest.length; node++) {
      // Where one is covered already, so are its inner ends: by the same node at least.
      for (let at = longest[node]!; at !== EMPTY && covers[at]!.add(this.tree, node); at = classes[at]!.parent);
    }
    return Float64Array.from(covers, (cover) => cover.weight);
  }

  /** Classes inside which a class is are longer, and come first. */
  reportAll(threshold: number): void {
    const { ascending, classes } = this.repeats;
    for (let index = ascending.length - 1; index >= 0; index--) {
      const at = ascending[index]!;
      if (at === EMPTY) continue;
      const weight = this.weights[at]!;
      if (weight - this.explained[at]! >= threshold) this.explained[at] = this.weightTogether(this.around[at]!);
      const own = weight - this.explained[at]!;
      if (own >= threshold) {
        this.report(at, own);
        this.explained[at] = weight;
      }
      // What explains a path explains its inner end.
      const { parent } = classes[at]!;
      this.explained[parent] = Math.max(this.explained[parent]!, this.explained[at]!);
    }
  }

  /** Weight of the backtraces that contain any of these, which are reported. */
  private weightTogether(classes: number[]): number {
    if (classes.length === 1) return this.weights[classes[0]!]!;
    const nodes = classes.flatMap((at) => this.occurrences.get(at) ?? []).sort((a, b) => a - b);
    const together = new Cover();
    for (const node of nodes) together.add(this.tree, node);
    return together.weight;
  }

  /** Notes the class at all classes that are in it. */
  private report(at: number, own: number): void {
    const { classes, longest } = this.repeats;
    const { length, example } = classes[at]!;
    let node = example;
    for (let rest = length; rest >= 1 && node !== NONE; rest--, node = this.tree.parent[node]!) {
      let inside = this.repeats.shortened(longest[node]!, rest);
      for (; inside !== EMPTY; inside = classes[inside]!.parent) {
        // Where it is noted already, it is so at the inner ends.
        if (inside !== at && !this.putAround(at, inside)) break;
      }
    }
    const cover = new Cover();
    this.occurrences.set(at, this.repeats.ends(at).filter((end) => cover.add(this.tree, end)));
    this.reported.push({ at, own });
  }

  /** False if it was there. */
  private putAround(outer: number, inside: number): boolean {
    const around = this.around[inside]!;
    if (around.at(-1) === outer) return false;
    const beyond = this.around[outer]!;
    this.around[inside] = [...around.filter((other) => !beyond.includes(other)), outer];
    return true;
  }

  path(at: number, own: number): HeavyPath {
    const { length, example } = this.repeats.classes[at]!;
    const { origin } = this.tree;
    const occurrences = (this.occurrences.get(at) ?? []).map((node) => origin[node]!);
    return { example: origin[example]!, length, own, occurrences };
  }
}
