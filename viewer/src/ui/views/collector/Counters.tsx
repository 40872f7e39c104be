// Exact figures of the process and its runtime, as the trace tells them.

import { bytes, count } from "../../parts/format";
import { Table, type Column } from "../../parts/Table";

/** What a counter is called, and whether it counts words, bytes, or things. */
const COUNTERS: [string, string, "words" | "bytes" | "things"][] = [
  ["resident_bytes", "resident memory", "bytes"],
  ["proportional_bytes", "of it, without what is shared", "bytes"],
  ["allocator_in_use_bytes", "given out by the allocator", "bytes"],
  ["allocator_held_bytes", "held by the allocator", "bytes"],
  ["minor_faults", "page faults without I/O", "things"],
  ["major_faults", "page faults with I/O", "things"],
  ["minor_words", "allocated in the minor heap", "words"],
  ["promoted_words", "promoted", "words"],
  ["major_words", "allocated in the major heap, promoted included", "words"],
  ["minor_collections", "minor collections", "things"],
  ["major_collections", "major collections", "things"],
  ["compactions", "compactions", "things"],
  ["heap_words", "major heap", "words"],
  ["top_heap_words", "the most that it was", "words"],
  ["young_heap_words", "minor heap", "words"],
];

interface Row {
  name: string;
  of: any;
  text(value: number): string;
}

export function Counters({ gc, wordBytes }: { gc: any; wordBytes: number }) {
  const rows = COUNTERS.flatMap(([id, name, kind]): Row[] => {
    const of = gc.counters[id];
    const text = kind === "things" ? count : (value: number) => bytes(value * (kind === "words" ? wordBytes : 1));
    return of ? [{ name, of, text }] : [];
  });
  const column = (id: string): Column<Row> => ({ id, title: id, numeric: true, cell: (row) => <span class="number">{row.of[id] == null ? "?" : row.text(row.of[id])}</span> });
  const columns: Column<Row>[] = [
    { id: "name", title: "", label: "Figure", head: true, cell: (row) => row.name },
    column("first"),
    column("highest"),
    column("last"),
    { id: "rest", title: "", label: "Nothing", wide: true, cell: () => "" },
  ];
  return (
    <section>
      <h2>
        Exact figures <span class="muted">· of the whole process, the agent in it included</span>
      </h2>
      <Table caption="Exact figures" columns={columns} rows={rows} rowKey={(row) => row.name} />
    </section>
  );
}
