// Cells of lifetime by size: sums along both sides, and the filter that chooses what is in some of them.

import type { Density } from "../../engine/api";
import { filterSize, filterSpan } from "../parts/spans";

/** Cells from one corner to the other, both included. */
export interface Cells {
  column: number;
  row: number;
  toColumn: number;
  toRow: number;
}

export function ordered(cells: Cells): Cells {
  return {
    column: Math.min(cells.column, cells.toColumn),
    row: Math.min(cells.row, cells.toRow),
    toColumn: Math.max(cells.column, cells.toColumn),
    toRow: Math.max(cells.row, cells.toRow),
  };
}

/** Sums by lifetime and by size. */
export function margins(of: Density, values: Float64Array): { lifetimes: Float64Array; sizes: Float64Array; all: number } {
  const lifetimes = new Float64Array(of.lifetimes.length);
  const sizes = new Float64Array(of.sizes.length);
  let all = 0;
  for (let row = 0; row < sizes.length; row += 1)
    for (let column = 0; column < lifetimes.length; column += 1) {
      const value = values[row * lifetimes.length + column];
      lifetimes[column] += value;
      sizes[row] += value;
      all += value;
    }
  return { lifetimes, sizes, all };
}

/** What is in the cells. */
export function sumOf(of: Density, values: Float64Array, cells: Cells): number {
  const { column, row, toColumn, toRow } = ordered(cells);
  let sum = 0;
  for (let y = row; y <= toRow; y += 1) for (let x = column; x <= toColumn; x += 1) sum += values[y * of.lifetimes.length + x];
  return sum;
}

/** The filter's terms for what is in the cells: `lifetime 1ms..8ms size 1KiB..2KiB`. */
export function termsOf(of: Density, cells: Cells): string {
  const { column, row, toColumn, toRow } = ordered(cells);
  return [lifetimeTerm(of, column, toColumn), sizeTerm(of, row, toRow)].filter(Boolean).join(" ");
}

/** The last column is what was not freed, of which it is known only that it lived for long enough. */
function lifetimeTerm(of: Density, from: number, to: number): string {
  const last = of.lifetimes.length - 1;
  const begin = of.lifetimes[from];
  if (from === last) return "not freed";
  if (to === last) return from === 0 ? "" : `not lifetime<${filterSpan(begin)}`;
  const end = endOf(of.lifetimes, to, last);
  if (begin < 1) return `lifetime<${filterSpan(end)}`;
  return `lifetime ${filterSpan(begin)}..${filterSpan(end)}`;
}

function sizeTerm(of: Density, from: number, to: number): string {
  if (from === 0 && to === of.sizes.length - 1) return "";
  const end = mostOf(of, to) + 1;
  return of.sizes[from] < 1 ? `size<${filterSize(end)}` : `size ${filterSize(of.sizes[from])}..${filterSize(end)}`;
}

/** The greatest size of a class: a power of two, but for empty blocks. */
export function mostOf({ sizes }: Density, row: number): number {
  return sizes[row] < 2 ? sizes[row] : 2 * (sizes[row] - 1);
}

/** Where a class of lifetimes ends: where the next one begins; they are powers of two. */
export function endOf(ends: number[], at: number, count: number): number {
  return at + 1 < count ? ends[at + 1] : Math.max(1, 2 * ends[at]);
}
