// Hot paths as they are to be read (crates/analysis/src/paths.rs): the path is listed first that explains most, then the
// one that explains most of what is left, and so on. A backtrace is explained by the most specific paths that it contains.

import type { HotPath, Line } from "./api";
import { type Accounts, sum, valuesByNode } from "./callsites";
import { type Estimate, measuredOf, NOTHING, share } from "./estimate";
import { newSums, type Sums } from "./holdings";
import { folded } from "./paths/folding";
import { heavyPaths, type HeavyPath } from "./paths/heavy";
import { weigh } from "./paths/weighted";
import type { PrefixTree } from "./prefix_tree";
import { lineOf } from "./shape";

/** What a path must explain that longer paths around it do not. */
const LEAST_SHARE = 0.01;
/** Of more the lightest ends are left out. */
const MOST_NODES = 2_000_000;

export function hotPaths(accounts: Accounts): HotPath[] {
  const { sites } = accounts;
  const { tree, of } = folded(sites.shaped);
  const values = valuesByNode(accounts);
  const own = newSums(tree.size);
  for (let node = 0; node < values.value.length; node++) {
    if (values.samples[node]! === 0) continue;
    const at = of[sites.begin[node]!]!;
    own.value[at]! += values.value[node]!;
    own.variance[at]! += values.variance[node]!;
    own.uncertain[at]! += values.uncertain[node]!;
  }
  const found = heavyPaths(weigh(tree, own.value, MOST_NODES), LEAST_SHARE);
  const total = sum(own.value);
  const kinds = new Kinds(tree, own, found);
  return kinds.list(LEAST_SHARE * total).map(({ path, total: all, fresh }) => ({
    share: share(all.value, total),
    freshShare: share(fresh.value, total),
    total: measuredOf(all),
    fresh: measuredOf(fresh),
    lines: labels(tree, found[path]!).map((look): Line => lineOf(sites.shaped, look)),
  }));
}

/** The lines of a path, innermost first. */
function labels(tree: PrefixTree, { example, length }: HeavyPath): number[] {
  const found: number[] = [];
  for (let at = example; found.length < length; at = tree.parent[at]!) found.push(tree.label[at]!);
  return found;
}

interface Kind {
  value: Estimate;
  /** Paths in order of their numbers. */
  contains: number[];
  /** Those that are in no other of these. */
  specific: number[];
}

interface Listed {
  path: number;
  fresh: Estimate;
}

/** Backtraces by which paths they contain. */
class Kinds {
  private readonly kinds: Kind[];
  /** By path: those of which it is a part. */
  private readonly outer: Set<number>[];

  constructor(
    tree: PrefixTree,
    own: Sums,
    private readonly paths: HeavyPath[],
  ) {
    this.outer = insides(paths.map((path) => labels(tree, path)));
    this.kinds = kindsOf(tree, own, paths).map((kind) => ({ ...kind, specific: this.specific(kind.contains) }));
  }

  /** The paths as they are to be read; each explains so much at least. */
  list(least: number): { path: number; total: Estimate; fresh: Estimate }[] {
    const totals = this.sums((kind) => kind.contains, this.kinds);
    const listed: Listed[] = [];
    let left = this.kinds;
    while (least > 0) {
      const next = this.first(left);
      if (next === null || next.fresh.value < least) break;
      listed.push(next);
      left = left.filter((kind) => !kind.specific.includes(next.path));
    }
    this.explainRest(listed, left);
    listed.sort((a, b) => b.fresh.value - a.fresh.value);
    return listed.map(({ path, fresh }) => ({ path, total: totals[path]!, fresh }));
  }

  /** The path that explains most; of those that explain the same, the longest. */
  private first(left: Kind[]): Listed | null {
    const fresh = this.sums((kind) => kind.specific, left);
    let best: number | null = null;
    for (let path = 0; path < fresh.length; path++) {
      const isMore = best === null || fresh[path]!.value > fresh[best]!.value;
      const isSame = best !== null && fresh[path]!.value === fresh[best]!.value;
      if (isMore || (isSame && this.paths[path]!.length > this.paths[best!]!.length)) best = path;
    }
    return best === null ? null : { path: best, fresh: fresh[best]! };
  }

  /** What longer paths would explain that are not listed is explained by what is listed of it. */
  private explainRest(listed: Listed[], left: Kind[]): void {
    for (const kind of left) {
      const known = this.specific(kind.contains.filter((path) => listed.some((it) => it.path === path)));
      const by = listed.find(({ path }) => known.includes(path));
      if (by !== undefined) addTo(by.fresh, kind.value);
    }
  }

  private specific(paths: number[]): number[] {
    return paths.filter((path) => !paths.some((other) => this.outer[path]!.has(other)));
  }

  private sums(of: (kind: Kind) => number[], kinds: Kind[]): Estimate[] {
    const sums = this.paths.map(() => ({ ...NOTHING }));
    for (const kind of kinds) for (const path of of(kind)) addTo(sums[path]!, kind.value);
    return sums;
  }
}

function addTo(sum: Estimate, { value, variance, uncertain }: Estimate): void {
  sum.value += value;
  sum.variance += variance;
  sum.uncertain += uncertain;
}

/** Kinds in the order in which they are met, from the outermost frames on. */
function kindsOf(tree: PrefixTree, own: Sums, paths: HeavyPath[]): Omit<Kind, "specific">[] {
  const sets = new PathSets(paths.length);
  const ends = endsOf(tree.size, paths);
  const kinds: Omit<Kind, "specific">[] = [];
  const kindOf: (Estimate | undefined)[] = [];
  const of = new Uint32Array(tree.size);
  for (let node = 0; node < tree.size; node++) {
    let set = node === 0 ? 0 : of[tree.parent[node]!]!;
    for (let end = ends.first[node]!; end !== 0; end = ends.next[end]!) set = sets.with(set, ends.path[end]!);
    of[node] = set;
    let sum = kindOf[set];
    if (sum === undefined) {
      kindOf[set] = sum = { ...NOTHING };
      kinds.push({ contains: sets.paths[set]!, value: sum });
    }
    sum.value += own.value[node]!;
    sum.variance += own.variance[node]!;
    sum.uncertain += own.uncertain[node]!;
  }
  return kinds;
}

/** By node: the paths that end there, as lists; their ends are numbered from 1. */
function endsOf(size: number, paths: HeavyPath[]): { first: Uint32Array; next: Uint32Array; path: Uint32Array } {
  const count = paths.reduce((sum, { occurrences }) => sum + occurrences.length, 1);
  const [first, next, path] = [new Uint32Array(size), new Uint32Array(count), new Uint32Array(count)];
  let end = 1;
  paths.forEach(({ occurrences }, number) => {
    for (const node of occurrences) {
      path[end] = number;
      next[end] = first[node]!;
      first[node] = end++;
    }
  });
  return { first, next, path };
}

/** Sets of paths, each with a number; that of the empty one is 0. */
class PathSets {
  readonly paths: number[][] = [[]];
  private readonly ids = new Map<string, number>([["", 0]]);
  /** By set and path: the set with it. */
  private readonly known = new Map<number, number>();

  constructor(private readonly count: number) {}

  with(set: number, path: number): number {
    const key = set * this.count + path;
    let found = this.known.get(key);
    if (found === undefined) this.known.set(key, (found = this.find(set, path)));
    return found;
  }

  private find(set: number, path: number): number {
    const paths = [...new Set([...this.paths[set]!, path])].sort((a, b) => a - b);
    const name = paths.join();
    const id = this.ids.get(name) ?? this.paths.push(paths) - 1;
    this.ids.set(name, id);
    return id;
  }
}

/** By path: those of which it is a part. */
function insides(lines: number[][]): Set<number>[] {
  const starts = new Map<number, number[]>();
  lines.forEach((path, at) => starts.set(path[0]!, [...(starts.get(path[0]!) ?? []), at]));
  const outer = lines.map(() => new Set<number>());
  lines.forEach((around, at) => {
    around.forEach((line, from) => {
      for (const path of starts.get(line) ?? []) {
        const isPart = path !== at && lines[path]!.every((it, step) => around[from + step] === it);
        if (isPart) outer[path]!.add(at);
      }
    });
  });
  return outer;
}
