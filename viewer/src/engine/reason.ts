// What gives a reason for an allocation, of the lines of a backtrace (crates/analysis/src/names.rs): a callsite is the
// innermost line that does.

import { type Backtraces, MACHINERY, REMARK, STARTS, UNKNOWN } from "./names";

export const NO_LINE = 0xffff_ffff;

const HAS_LINES = 1;
const IS_FOUND = 2;
const IS_NAMED = 4;
/** Beside the new state: this line is the innermost reason so far. */
const IS_NOW = 8;

/** Goes on by one line inwards, from 0: the state after it, with `isNow` in it. */
export function goOn(state: number, flags: number): number {
  const isUnknown = (flags & UNKNOWN) !== 0;
  const isOne = (flags & MACHINERY) === 0 && !(isUnknown && (state & IS_NAMED) !== 0);
  const isNamed = isOne && !isUnknown && (flags & STARTS) === 0;
  // While nothing gives a reason, the innermost line is the best there is, unless it only says what the block is.
  const isWorse = (state & HAS_LINES) !== 0 && (flags & REMARK) !== 0;
  const isBest = isOne || ((state & IS_FOUND) === 0 && !isWorse);
  const after = (state & (IS_FOUND | IS_NAMED)) | HAS_LINES;
  return after | (isOne ? IS_FOUND : 0) | (isNamed ? IS_NAMED : 0) | (isBest ? IS_NOW : 0);
}

export function isNow(state: number): boolean {
  return (state & IS_NOW) !== 0;
}

/** By node: the line that is its callsite, with no frame hidden; `NO_LINE` of the one without frames. */
export function callsiteLines({ nodes, parent, frame, first, lines }: Backtraces): Uint32Array {
  const callsite = new Uint32Array(nodes).fill(NO_LINE);
  const states = new Uint8Array(nodes);
  for (let node = 1; node < nodes; node++) {
    let state = states[parent[node]!]!;
    let at = callsite[parent[node]!]!;
    for (let line = first[frame[node]!]!; line < first[frame[node]! + 1]!; line++) {
      state = goOn(state, lines.flags[line]!);
      if (isNow(state)) at = line;
    }
    states[node] = state;
    callsite[node] = at;
  }
  return callsite;
}
