// Callsites: the innermost line of a backtrace that is no allocation machinery (crates/analysis/src/sites.rs).

import type { Line } from "./api";
import { UNKNOWN } from "./names";
import { goOn, isNow } from "./reason";
import { LEFT_OUT, lineOf, placeKey, type Shaped } from "./shape";

export interface Sites {
  shaped: Shaped;
  count: number;
  /** By callsite: a look of its place; -1 of what has no backtrace. */
  look: Int32Array;
  /** By node of the shaped tree: its callsite, and the node that ends there. */
  of: Uint32Array;
  begin: Uint32Array;
  /** By node of the backtraces: its callsite, or `LEFT_OUT`. */
  ofBacktrace: Uint32Array;
  /** By callsite: its place in the order of names, in which equal ones are listed. */
  rank: Uint32Array;
}

export function findSites(shaped: Shaped): Sites {
  const { tree, looks, lines } = shaped;
  const ids = new Map<string, number>();
  const found: number[] = [];
  const ofLook = looks.map((line, look) => {
    const key = placeKey(lines, line);
    const known = ids.get(key);
    if (known !== undefined) return known;
    ids.set(key, found.length);
    return found.push(look) - 1;
  });
  const none = found.push(-1) - 1;
  const [of, begin, states] = [new Uint32Array(tree.size), new Uint32Array(tree.size), new Uint8Array(tree.size)];
  of[0] = none;
  for (let node = 1; node < tree.size; node++) {
    const outer = tree.parent[node]!;
    const look = tree.label[node]!;
    const state = goOn(states[outer]!, lines.flags[looks[look]!]!);
    states[node] = state;
    of[node] = isNow(state) ? ofLook[look]! : of[outer]!;
    begin[node] = isNow(state) ? node : begin[outer]!;
  }
  const ofBacktrace = shaped.of.map((node) => (node === LEFT_OUT ? LEFT_OUT : of[node]!));
  const look = Int32Array.from(found);
  return { shaped, count: look.length, look, of, begin, ofBacktrace, rank: ranks(shaped, look) };
}

/** Where a callsite is; null of what has no backtrace. */
export function siteLine(sites: Sites, site: number): Line | null {
  const look = sites.look[site]!;
  return look < 0 ? null : lineOf(sites.shaped, look);
}

/** Known places by function, file and line; then those of which nothing is known, then what has no backtrace. */
function ranks({ lines, looks }: Shaped, look: Int32Array): Uint32Array {
  const kind = (site: number) => {
    if (look[site]! < 0) return 2;
    return (lines.flags[looks[look[site]!]!]! & UNKNOWN) !== 0 ? 1 : 0;
  };
  const compare = (a: number, b: number): number => {
    if (kind(a) !== kind(b) || kind(a) === 2) return kind(a) - kind(b);
    const [one, other] = [looks[look[a]!]!, looks[look[b]!]!];
    if (kind(a) === 1) {
      const [x, y] = [lines.code.get(one) ?? "", lines.code.get(other) ?? ""];
      return x.length - y.length || compareText(x, y);
    }
    return (
      compareText(lines.function[one]!, lines.function[other]!) ||
      compareText(lines.file[one]!, lines.file[other]!) ||
      lines.line[one]! - lines.line[other]!
    );
  };
  const order = Array.from(look, (_, site) => site).sort(compare);
  const rank = new Uint32Array(look.length);
  order.forEach((site, at) => (rank[site] = at));
  return rank;
}

export function compareText(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}
