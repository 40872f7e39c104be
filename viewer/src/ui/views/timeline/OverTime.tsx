// The chart as a table: for screen readers, and for whoever wants the numbers.

import { useMemo } from "preact/hooks";
import type { Timeline, Trace } from "../../../engine/api";
import type { Stack } from "../../chart/stack";
import { bytes } from "../../parts/format";
import { functionOf } from "../../parts/names";
import { Estimate } from "../../parts/Number";
import { Table, type Column } from "../../parts/Table";

/** So many rows at most. */
const ROWS = 30;
/** So many contributors have a column. */
const COLUMNS = 3;

interface OverTimeProps {
  timeline: Timeline;
  stack: Stack;
  trace: Trace;
  label(micros: number): string;
}

interface Row {
  at: number;
  begin: number;
  end: number;
  part: Timeline["parts"][number];
  most: Timeline["parts"][number]["most"];
}

export function OverTime({ timeline, stack, trace, label }: OverTimeProps) {
  const rows = useMemo(() => grouped(timeline), [timeline]);
  const columns: Column<Row>[] = [
    { id: "end", title: "until", numeric: true, head: true, cell: (row) => label(row.end) },
    { id: "live", title: "live then", numeric: true, cell: (row) => <Estimate of={row.part.atEnd} unit="bytes" /> },
    { id: "most", title: "most since the row before", numeric: true, cell: (row) => <Estimate of={row.most} unit="bytes" /> },
    ...memoryColumns(stack),
    ...cycleColumns(trace),
    ...stack.layers.slice(0, COLUMNS).map(
      ({ line, callsite, values }, at): Column<Row> => ({
        id: `layer${at}`,
        title: callsite === null ? "all others" : <span class="layer-name">{functionOf(line)}</span>,
        numeric: true,
        cell: (row) => bytes(values[row.at]),
      }),
    ),
  ];
  return (
    <details class="as-table">
      <summary>The same as a table</summary>
      <Table caption="Live bytes over time" columns={columns} rows={rows} rowKey={(row) => row.end} />
    </details>
  );
}

function memoryColumns({ resident, heap }: Stack): Column<Row>[] {
  const column = (id: string, title: string, values: (number | null)[] | null): Column<Row>[] =>
    values ? [{ id, title, numeric: true, cell: (row) => (values[row.at] === null ? "" : bytes(values[row.at]!)) }] : [];
  return [...column("resident", "resident", resident), ...column("heap", "heap", heap)];
}

function cycleColumns({ cycles }: Trace): Column<Row>[] {
  if (cycles.generation.length === 0) return [];
  const times = cycles.end.map((end, at) => (Number.isNaN(end) ? cycles.begin[at] : end));
  const within = (row: Row) => times.reduce((count, time) => count + Number(time > row.begin && time <= row.end), 0);
  return [{ id: "cycles", title: "collections", numeric: true, cell: (row) => String(within(row)) }];
}

/** Some parts in a row: what was at the last one's end, and the most of them. */
function grouped({ parts }: Timeline): Row[] {
  const size = Math.ceil(parts.length / ROWS);
  const rows: Row[] = [];
  for (let from = 0; from < parts.length; from += size) {
    const group = parts.slice(from, from + size);
    const last = group[group.length - 1];
    const most = group.reduce((most, part) => (part.most.value > most.value ? part.most : most), group[0].most);
    rows.push({ at: from + group.length - 1, begin: group[0].begin, end: last.end, part: last, most });
  }
  return rows;
}
