// Blocks and bytes by powers of two of their sizes.

import { useMemo } from "preact/hooks";
import type { SizeRow } from "../../engine/api";
import { Bar } from "../parts/Bar";
import { amountColumn } from "../parts/columns";
import { sizeRange } from "../lifetimes/names";
import { filterSize } from "../parts/spans";
import { Table, type Column } from "../parts/Table";
import { tells } from "../told";
import type { View, ViewProps } from "../view";

function SizesView(props: ViewProps) {
  const { answer, state, setState, trace, narrow } = props;
  const { facts } = trace;
  const rows = useMemo(() => answer.sizes(), [answer]);
  const most = (of: (row: SizeRow) => number) => rows.reduce((most, row) => Math.max(most, of(row)), 0) || 1;
  const bar = (id: string, of: (row: SizeRow) => number, kind?: "second"): Column<SizeRow> => {
    const largest = most(of);
    return { id, title: "", label: "Share as a bar", cell: (row) => <Bar share={of(row) / largest} kind={kind} /> };
  };
  const columns: Column<SizeRow>[] = [
    sizeColumn((row) => narrow(termOf(row))),
    amountColumn("allocated", "allocated", (row) => row.allocated, "bytes", facts),
    bar("allocated-bar", (row) => row.allocated.bytes.value),
    amountColumn("objects", "objects", (row) => row.allocated, "objects", facts),
    bar("objects-bar", (row) => row.allocated.objects.value, "second"),
    ...(tells(facts, "live")
      ? [
          amountColumn<SizeRow>("live", "live at end", (row) => row.live, "bytes", facts),
          amountColumn<SizeRow>("live-objects", "live objects", (row) => row.live, "objects", facts),
        ]
      : []),
  ];
  return (
    <section class="views">
      <p class="lead">What blocks take in memory, by powers of two. A click on a size chooses it.</p>
      <Table
        fit
        caption="Blocks by size"
        columns={columns}
        rows={rows}
        rowKey={(row) => row.least}
        sort={state.sort}
        onSort={(sort) => setState({ sort })}
        empty="Nothing is chosen."
      />
    </section>
  );
}

function sizeColumn(onPick: (row: SizeRow) => void): Column<SizeRow> {
  const text = (row: SizeRow) => sizeRange(row.least, row.most);
  return {
    id: "size",
    title: "size",
    numeric: true,
    head: true,
    key: (row) => row.least,
    text,
    cell: (row) => (
      <button type="button" class="link number" onClick={() => onPick(row)}>
        {text(row)}
      </button>
    ),
  };
}

/** `most` is in the class, the end of a range is not. */
function termOf(row: SizeRow): string {
  return `size ${filterSize(row.least)}..${filterSize(row.most + 1)}`;
}

export const view: View = { id: "sizes", title: "Sizes", key: "", isFor: () => true, component: SizesView };
