// Who allocates, and who frees what others allocated.

import { useMemo } from "preact/hooks";
import type { ThreadRow } from "../../engine/api";
import { amountColumn, shareColumn } from "../parts/columns";
import { counted, isNoise, measure } from "../parts/format";
import { brief } from "../parts/names";
import { Table, type Column } from "../parts/Table";
import { tellsMetric } from "../told";
import type { View, ViewProps } from "../view";

function ThreadsView(props: ViewProps) {
  const { answer, state, setState, trace, narrow } = props;
  const { facts } = trace;
  const { metric } = answer.question;
  const rows = useMemo(() => answer.threads(), [answer]);
  const knowsWhoFreed = rows.some((row) => row.freedByOthers !== null);
  const columns: Column<ThreadRow>[] = [
    shareColumn((row) => row.share, (row) => isNoise(row.allocated.bytes, row.allocated.samples)),
    amountColumn("allocated", "allocated", (row) => row.allocated, "bytes", facts),
    nameColumn((number) => narrow(`thread=${number}`)),
    ...(tellsMetric(facts, "objects") ? [amountColumn<ThreadRow>("objects", "objects", (row) => row.allocated, "objects", facts)] : []),
    ...(tellsMetric(facts, "live") ? [amountColumn<ThreadRow>("live", "live at end", (row) => row.live, "bytes", facts)] : []),
    ...(knowsWhoFreed
      ? [
          amountColumn<ThreadRow>("by-others", "of it freed by others", (row) => row.freedByOthers, "bytes", facts),
          amountColumn<ThreadRow>("for-others", "freed for others", (row) => row.freedForOthers, "bytes", facts),
        ]
      : []),
  ];
  return (
    <section class="views">
      <p class="lead">
        {counted(rows.length, "thread")} by {measure(metric)}. A click on a thread chooses it.
      </p>
      <Table
        caption={`Threads by ${measure(metric)}`}
        columns={columns}
        rows={rows}
        rowKey={(row) => row.number}
        sort={state.sort}
        onSort={(sort) => setState({ sort })}
        empty="Nothing is chosen."
      />
    </section>
  );
}

function nameColumn(onPick: (number: number) => void): Column<ThreadRow> {
  const name = (row: ThreadRow) => (row.name ? brief(row.name) : "(no name)");
  return {
    id: "thread",
    title: "thread",
    wide: true,
    head: true,
    key: (row) => row.number,
    text: (row) => `${row.number}  ${name(row)}`,
    cell: (row) => (
      <span class="place">
        <button type="button" class="link name" onClick={() => onPick(row.number)}>
          {row.number} {name(row)}
        </button>
        {row.kernel !== null && <span class="source"> the kernel's {row.kernel}</span>}
      </span>
    ),
  };
}

export const view: View = {
  id: "threads",
  title: "Threads",
  key: "",
  isFor: (trace) => trace.facts.threads.length > 0,
  component: ThreadsView,
};
