// What became of blocks in collected heaps, in all and by callsite.

import { useMemo } from "preact/hooks";
import type { Line, Trace } from "../../../engine/api";
import { count, percent } from "../../parts/format";
import { Location } from "../../parts/Location";
import { callsiteTerm } from "../../parts/names";
import { Amount } from "../../parts/Number";
import { Table, type Column } from "../../parts/Table";
import { line, quantity } from "../../words/documents";

interface BlocksProps {
  gc: any;
  trace: Trace;
  narrow(term: string): void;
}

interface Row {
  of: any;
  /** Null is all of them. */
  line: Line | null;
}

const AMOUNTS: [string, string, string][] = [
  ["allocated", "allocated", "in collected heaps"],
  ["allocated_old", "at once old", "born in the old heap"],
  ["promoted", "promoted", "moved from the young to the old heap"],
  ["collected", "collected", "found dead"],
  ["live_young", "live, young", "alive at the end, in the young heap"],
  ["live_old", "live, old", "alive at the end, in the old heap"],
];

export function Blocks({ gc, trace, narrow }: BlocksProps) {
  const rows = useMemo(() => [{ of: gc, line: null }, ...gc.callsites.map((of: any): Row => ({ of, line: line(of) }))], [gc]);
  const tellsSurvival = gc.survived_minor_mean !== null || gc.survived_major_mean !== null;
  const [allocated, ...others] = AMOUNTS.map(
    ([id, title, help]): Column<Row> => ({ id, title, help, numeric: true, key: ({ of }) => of[id].bytes, cell: ({ of }) => <Amount of={quantity(of[id])} facts={trace.facts} /> }),
  );
  const columns: Column<Row>[] = [
    { id: "share", title: "share", numeric: true, cell: ({ of }) => (of.share === undefined ? "all" : percent(of.share)) },
    allocated,
    { id: "place", title: "callsite", head: true, wide: true, cell: ({ line }) => <Place line={line} narrow={narrow} total={gc.callsites_total} /> },
    ...others,
    ...(tellsSurvival ? [survived("minor"), survived("major")] : []),
  ];
  return (
    <section>
      <h2>
        Blocks in collected heaps{" "}
        {gc.callsites_total > gc.callsites.length && <span class="muted">· the first {gc.callsites.length} of {count(gc.callsites_total)} callsites</span>}
      </h2>
      <Table caption="Blocks in collected heaps" columns={columns} rows={rows} rowKey={(row) => rows.indexOf(row)} />
    </section>
  );
}

function survived(generation: "minor" | "major"): Column<Row> {
  const text = (of: any) => {
    const mean = of[`survived_${generation}_mean`];
    return mean === null || mean === undefined ? "" : `${mean.toFixed(1)} (≤ ${of[`survived_${generation}_most`]})`;
  };
  return { id: generation, title: `survived ${generation}`, help: `${generation} collections that a block survived on average, and at most`, numeric: true, cell: ({ of }) => text(of) };
}

function Place({ line, narrow, total }: { line: Line | null; narrow(term: string): void; total: number }) {
  if (line === null) return <strong>all {count(total)} callsites</strong>;
  const term = callsiteTerm(line);
  return <Location line={line} onPick={term === null ? undefined : () => narrow(term)} />;
}
