// Short names of sizes.

import { bytes, count } from "../parts/format";
import { range } from "../parts/spans";

/** Of a class of sizes, both ends included: `33 B–64 B`. */
export function sizeRange(least: number, most: number): string {
  return least === most ? bytes(least) : range(`${count(least)} B`, bytes(most));
}

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB"];

/** `64 KiB`. */
export function sizeName(size: number): string {
  const step = size < 1 ? 0 : Math.min(UNITS.length - 1, Math.floor(Math.log2(size) / 10));
  return `${Math.round((size / 1024 ** step) * 10) / 10} ${UNITS[step]}`;
}
