// Functions: how much they ask for themselves, and with all that they call (crates/analysis/src/functions.rs). One that is
// in a backtrace several times counts once, at its outermost place.

import type { FunctionRow, Line } from "./api";
import { type Accounts, sum, throughNodes, valuesByNode } from "./callsites";
import { type Estimate, measuredOf, share } from "./estimate";
import { estimateAt, newSums, type Sums } from "./holdings";
import { UNKNOWN } from "./names";
import { lineOf, type Shaped } from "./shape";
import { compareText } from "./sites";

interface Numbered {
  /** By look. */
  of: Uint32Array;
  /** By function: the first look of it. */
  look: number[];
}

/** What a function asked for itself, and with all that it called. */
export interface FunctionTotals {
  line: Line;
  total: Estimate;
  own: Estimate;
}

/** Those that have most in total first. */
export function functionTotals(accounts: Accounts): FunctionTotals[] {
  const { sites } = accounts;
  const { shaped } = sites;
  const { of, look } = number(shaped);
  const values = valuesByNode(accounts);
  const own = newSums(look.length);
  for (let node = 0; node < values.value.length; node++) {
    const begin = sites.begin[node]!;
    if (begin !== 0 && values.samples[node]! > 0) move(values, node, own, of[shaped.tree.label[begin]!]!);
  }
  const total = outermost(shaped, of, look.length, throughNodes(accounts));
  const order = look.map((_, at) => at).filter((at) => total.value[at]! > 0);
  const lines = look.map((it) => lineOf(shaped, it));
  order.sort((a, b) => total.value[b]! - total.value[a]! || compareLines(lines[a]!, lines[b]!));
  return order.map((at) => ({ line: lines[at]!, total: estimateAt(total, at), own: estimateAt(own, at) }));
}

export function functions(accounts: Accounts): FunctionRow[] {
  const all = sum(valuesByNode(accounts).value);
  return functionTotals(accounts).map(({ line, total, own }) => ({
    function: line.function,
    ...(line.code === undefined ? {} : { code: line.code }),
    file: line.file,
    line: line.line,
    total: measuredOf(total),
    totalShare: share(total.value, all),
    own: measuredOf(own),
    ownShare: share(own.value, all),
  }));
}

export function compareLines(one: Line, other: Line): number {
  return (
    Number(one.function === null) - Number(other.function === null) ||
    compareText(one.function ?? "", other.function ?? "") ||
    compareText(one.file ?? "", other.file ?? "")
  );
}

function move(from: Readonly<Sums>, at: number, to: Sums, target: number): void {
  to.samples[target]! += from.samples[at]!;
  to.value[target]! += from.value[at]!;
  to.variance[target]! += from.variance[at]!;
  to.uncertain[target]! += from.uncertain[at]!;
}

/** Functions are equal if name and file are. */
function number({ looks, lines }: Shaped): Numbered {
  const ids = new Map<string, number>();
  const first: number[] = [];
  const of = Uint32Array.from(looks, (line, look) => {
    const isUnknown = (lines.flags[line]! & UNKNOWN) !== 0;
    const key = isUnknown ? `?${lines.code.get(line) ?? ""}` : `${lines.function[line]}\0${lines.file[line]}`;
    const known = ids.get(key);
    if (known !== undefined) return known;
    ids.set(key, first.length);
    return first.push(look) - 1;
  });
  return { of, look: first };
}

/** What came through the places of each function that are not further out too: one walk over the tree. */
function outermost({ tree }: Shaped, of: Uint32Array, count: number, through: Readonly<Sums>): Sums {
  const { first, next } = siblings(tree.parent, tree.size);
  const total = newSums(count);
  const timesOnWay = new Uint32Array(count);
  // Down to the first child, then along its siblings, then back: without a stack, however deep.
  let node = first[0]!;
  while (node !== 0) {
    const at = of[tree.label[node]!]!;
    if (timesOnWay[at] === 0) move(through, node, total, at);
    timesOnWay[at]!++;
    if (first[node] !== 0) {
      node = first[node]!;
      continue;
    }
    while (node !== 0) {
      timesOnWay[of[tree.label[node]!]!]!--;
      if (next[node] !== 0) {
        node = next[node]!;
        break;
      }
      node = tree.parent[node]!;
    }
  }
  return total;
}

/** By node: its first child, and its next sibling; 0 for none. */
function siblings(parent: Uint32Array, size: number): { first: Uint32Array; next: Uint32Array } {
  const [first, next] = [new Uint32Array(size), new Uint32Array(size)];
  for (let node = size - 1; node > 0; node--) {
    next[node] = first[parent[node]!]!;
    first[parent[node]!] = node;
  }
  return { first, next };
}
