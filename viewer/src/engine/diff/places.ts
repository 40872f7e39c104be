// The places of the runs of a side, laid over each other, and what became of each (crates/analysis/src/diff/mod.rs).

import type { Change, Line } from "../api";
import { type Estimate, NOTHING } from "../estimate";
import { compareText } from "../sites";
import { benjaminiHochberg, difference, type Difference, type Run } from "./compare";
import { match, type Place } from "./matching";

/** A place by its name, and what a run has there. */
export interface Entry extends Place {
  value: Estimate;
  shown: Line | null;
}

/** The places of one run, each once. */
export interface RunEntries {
  entries: Entry[];
  grain: number;
}

/** What is significant at this level, corrected for the number of places, is more than noise. */
export const LEVEL = 0.05;

interface Row extends Place {
  shown: Line | null;
  /** One for each run. */
  values: Estimate[];
}

/** Compares all places of two sides, the greatest change first. */
export function comparePlaces(before: RunEntries[], after: RunEntries[]): Change[] {
  const [old, fresh] = [aligned(before), aligned(after)];
  const matching = match(old, fresh);
  const pairs: [number | null, number | null][] = [
    ...matching.pairs,
    ...matching.gone.map((at): [number, null] => [at, null]),
    ...matching.new.map((at): [null, number] => [null, at]),
  ];
  const rows = pairs.map(([one, other]) => {
    const found = difference(runsOf(before, old, one), runsOf(after, fresh, other));
    return { row: other !== null ? fresh[other]! : old[one!]!, found };
  });
  const corrected = benjaminiHochberg(rows.map(({ found }) => found.pValue));
  const changes = rows.map(({ row, found }, at) => ({ row, change: changeOf(row.shown, found, corrected[at]!) }));
  changes.sort(
    (a, b) =>
      Math.abs(b.change.change) - Math.abs(a.change.change) ||
      compareText(a.row.function, b.row.function) ||
      compareText(a.row.file, b.row.file) ||
      a.row.line - b.row.line,
  );
  return changes.map(({ change }) => change);
}

export function changeOf(line: Line | null, found: Difference, pValue: number): Change {
  return { ...found, line, pValue, significant: found.change !== 0 && pValue <= LEVEL };
}

function aligned(runs: RunEntries[]): Row[] {
  const rows: Row[] = [];
  runs.forEach(({ entries }, number) => {
    const matching = match(rows, entries);
    for (const [row, entry] of matching.pairs) {
      const sum = rows[row]!.values[number]!;
      const { value } = entries[entry]!;
      rows[row]!.values[number] = {
        value: sum.value + value.value,
        variance: sum.variance + value.variance,
        uncertain: sum.uncertain + value.uncertain,
      };
    }
    for (const at of matching.new) {
      const { value, ...place } = entries[at]!;
      rows.push({ ...place, values: runs.map((_, run) => (run === number ? value : NOTHING)) });
    }
  });
  return rows;
}

/** What the runs have there; nothing if there is no row. */
function runsOf(runs: RunEntries[], rows: Row[], row: number | null): Run[] {
  return runs.map(({ grain }, number) => ({ estimate: row === null ? NOTHING : rows[row]!.values[number]!, grain }));
}
