// Collections by generation: how many, how far apart, how long, and when.

import { count } from "../../parts/format";
import { Sparkline } from "../../parts/Sparkline";
import { duration as span } from "../../parts/spans";
import { Table, type Column } from "../../parts/Table";

export function Collections({ gc, duration }: { gc: any; duration: number }) {
  const time = (of: any, what: string) => (of ? span(of[`${what}_us`]) : <span class="number none">not told</span>);
  const columns: Column<any>[] = [
    { id: "generation", title: "", label: "Generation", head: true, cell: (row) => row.generation },
    { id: "count", title: "number", numeric: true, cell: (row) => count(row.count) },
    { id: "gap", title: "from one to the next", help: "the median", numeric: true, cell: (row) => time(row.gaps, "median") },
    { id: "longest", title: "longest gap", numeric: true, cell: (row) => time(row.gaps, "longest") },
    { id: "took", title: "each took", help: "the median", numeric: true, cell: (row) => time(row.durations, "median") },
    { id: "slowest", title: "longest", numeric: true, cell: (row) => time(row.durations, "longest") },
    { id: "all", title: "in all", numeric: true, cell: (row) => time(row.durations, "total") },
    { id: "over", title: `over ${span(duration)}`, wide: true, cell: (row) => <Sparkline values={row.over_time} label={`${row.generation} collections over time`} width={220} bars /> },
  ];
  return <Table caption="Collections by generation" columns={columns} rows={gc.collections} rowKey={(row) => row.generation} />;
}
