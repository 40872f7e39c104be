// What became of what, when a program was rebuilt (crates/analysis/src/statistics/matching.rs): places are matched by names;
// those that share one in the order of their lines, such that lines differ as little as possible from one common shift.

import { rebuiltFile, rebuiltName } from "./rebuilt";

/** Up to so many pairs of places that share a name, all shifts are tried. */
const ALL_SHIFTS = 400;
/** From so many on, only equal lines are matched. */
const TOO_MANY = 1 << 22;

export interface Place {
  function: string;
  file: string;
  /** Or 0. */
  line: number;
}

/** Indices before and after; those of places that are on one side only. */
export interface Matching {
  pairs: [number, number][];
  gone: number[];
  new: number[];
}

export function match(before: Place[], after: Place[]): Matching {
  const matcher = new Matcher(before, after);
  const all = [before, after].map((side) => side.map((_, index) => index));
  const left = matcher.matchBy(all, (place) => `${rebuiltName(place.function)}\0${rebuiltFile(place.file)}`);
  const [gone, fresh] = matcher.matchBy(left, (place) => rebuiltName(place.function));
  const pairs = matcher.partner.flatMap((other, index): [number, number][] => (other < 0 ? [] : [[index, other]]));
  return { pairs, gone: gone!, new: fresh! };
}

class Matcher {
  /** By index before; -1 for none. */
  readonly partner: number[];
  private readonly sides: Place[][];

  constructor(before: Place[], after: Place[]) {
    this.sides = [before, after];
    this.partner = before.map(() => -1);
  }

  /** Matches places that have the same name; returns those without a partner, in order. */
  matchBy(sides: number[][], name: (place: Place) => string): number[][] {
    const groups = new Map<string, number[][]>();
    sides.forEach((indices, side) => {
      for (const index of indices) {
        const key = name(this.sides[side]![index]!);
        const group = groups.get(key) ?? [[], []];
        groups.set(key, group);
        group[side]!.push(index);
      }
    });
    const left: number[][] = [[], []];
    for (const group of groups.values()) {
      this.matchGroup(group).forEach((alone, side) => left[side]!.push(...alone));
    }
    return left.map((indices) => indices.sort((a, b) => a - b));
  }

  private matchGroup(group: number[][]): number[][] {
    group.forEach((indices, side) => {
      const line = (index: number) => this.sides[side]![index]!.line;
      indices.sort((a, b) => line(a) - line(b) || a - b);
    });
    const [before, after] = group as [number[], number[]];
    const places = [before, after].map((indices, side) => indices.map((index) => this.sides[side]![index]!));
    for (const [one, other] of align(places[0]!, places[1]!)) this.partner[before[one]!] = after[other]!;
    const taken = new Set(before.map((index) => this.partner[index]!));
    return [before.filter((index) => this.partner[index]! < 0), after.filter((index) => !taken.has(index))];
  }
}

/** Pairs of indices, ascending on both sides. Both sides are ordered by line. */
function align(before: Place[], after: Place[]): [number, number][] {
  if (before.length > after.length) return align(after, before).map(([one, other]) => [other, one]);
  if (before.length === after.length || before.length === 0) return before.map((_, index) => [index, index]);
  if (before.length * after.length > TOO_MANY) return equalLines(before, after);
  let best: { cost: number; shift: number; pairs: [number, number][] } | null = null;
  for (const shift of shifts(before, after)) {
    const { cost, pairs } = alignShifted(before, after, shift);
    const isBetter = best === null || cost < best.cost || (cost === best.cost && Math.abs(shift) < best.shift);
    if (isBetter) best = { cost, shift: Math.abs(shift), pairs };
  }
  return best?.pairs ?? [];
}

/** By how many lines a side may have been shifted, the smallest first. */
function shifts(before: Place[], after: Place[]): number[] {
  const found = [0];
  if (before.length * after.length <= ALL_SHIFTS) {
    for (const one of before) for (const other of after) found.push(other.line - one.line);
  } else found.push(after[0]!.line - before[0]!.line, after.at(-1)!.line - before.at(-1)!.line);
  return [...new Set(found)].sort((a, b) => Math.abs(a) - Math.abs(b) || a - b);
}

/** The cheapest alignment of all of `before`, which is the shorter side, and its cost. */
function alignShifted(before: Place[], after: Place[], shift: number): { cost: number; pairs: [number, number][] } {
  // costs[i][j]: of the first i with some of the first j.
  const width = after.length + 1;
  const costs = new Float64Array((before.length + 1) * width).fill(Infinity);
  costs.fill(0, 0, width);
  for (let i = 1; i <= before.length; i++) {
    for (let j = i; j <= after.length; j++) {
      const together = costs[(i - 1) * width + j - 1]! + cost(before[i - 1]!, after[j - 1]!, shift);
      costs[i * width + j] = Math.min(together, costs[i * width + j - 1]!);
    }
  }
  let [i, j] = [before.length, after.length];
  const pairs: [number, number][] = [];
  while (i > 0) {
    if (j > i && costs[i * width + j - 1] === costs[i * width + j]) j--;
    else pairs.push([--i, --j]);
  }
  return { cost: costs.at(-1)!, pairs: pairs.reverse() };
}

/** Lines that two places are apart; half a line more if a compiler numbers them otherwise. */
function cost(before: Place, after: Place, shift: number): number {
  return 2 * Math.abs(after.line - before.line - shift) + Number(before.function !== after.function);
}

function equalLines(before: Place[], after: Place[]): [number, number][] {
  const pairs: [number, number][] = [];
  let at = 0;
  before.forEach((place, index) => {
    while (at < after.length && after[at]!.line < place.line) at++;
    if (at < after.length && after[at]!.line === place.line) pairs.push([index, at++]);
  });
  return pairs;
}
