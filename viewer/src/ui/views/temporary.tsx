// What was allocated and freed at once: candidates for the stack, an arena, or a buffer that is used again.

import { useMemo } from "preact/hooks";
import type { TemporaryRow } from "../../engine/api";
import { amountColumn, estimateColumn, placeColumn, shareColumn } from "../parts/columns";
import { counted, isNoise, percent } from "../parts/format";
import { Backtrace } from "../parts/Location";
import { callsiteTerm } from "../parts/names";
import { Percent } from "../parts/Number";
import { about, filterSpan } from "../parts/spans";
import { Table, type Column } from "../parts/Table";
import { Choices, Toolbar } from "../parts/Toolbar";
import type { View, ViewProps } from "../view";

const BELOW = [1_000, 10_000, 100_000, 1_000_000];
const USUAL = 10_000;

function TemporaryView(props: ViewProps) {
  const { answer, state, setState, trace, narrow } = props;
  const { facts } = trace;
  const asked = Number(state.below);
  const below = asked > 0 ? asked : USUAL;
  const rows = useMemo(() => answer.temporary(below), [answer, below]);
  const choose = (row: TemporaryRow) => narrow(`${callsiteTerm(row.line)} lifetime<${filterSpan(below)}`);
  const columns: Column<TemporaryRow>[] = [
    shareColumn((row) => row.share, (row) => isNoise(row.temporary.bytes, row.temporary.samples), "Of all temporary blocks"),
    amountColumn("bytes", "temporary", (row) => row.temporary, "bytes", facts),
    placeColumn("callsite", (row) => row.line, (line) => choose(rows.find((row) => row.line === line)!)),
    amountColumn("objects", "objects", (row) => row.temporary, "objects", facts),
    {
      id: "part",
      title: "of its objects",
      help: "The part of the callsite's objects that are temporary. With 100 % it needs no free of its own.",
      numeric: true,
      key: partOf,
      text: (row) => percent(partOf(row) ?? Number.NaN),
      cell: (row) => <span class="number">{percent(partOf(row) ?? Number.NaN)}</span>,
    },
    estimateColumn("alive", "alive at once", (row) => row.aliveOnAverage, "bytes", "On average: so much an arena or a pool must hold"),
    estimateColumn("second", "a second", (row) => row.perSecond, "objects", "Allocations a second that reuse would save"),
  ];
  return (
    <section class="views">
      <Toolbar label="Temporary blocks">
        <Choices
          label="Freed within"
          value={String(below)}
          choices={BELOW.map((span) => ({ value: String(span), label: `within ${about(span)}` }))}
          onChoose={(value) => setState({ below: Number(value) === USUAL ? "" : value })}
        />
      </Toolbar>
      <p class="lead">
        {counted(rows.length, "callsite")} with blocks that were freed within {about(below)}: candidates for the stack, an arena, or a buffer
        that is kept and used again.
      </p>
      <Table
        caption={`Blocks freed within ${about(below)}, by callsite`}
        columns={columns}
        rows={rows}
        rowKey={(row) => row.callsite}
        sort={state.sort}
        onSort={(sort) => setState({ sort })}
        detail={(row) => <Hottest row={row} props={props} />}
        empty={`Nothing that is chosen was freed within ${about(below)}.`}
      />
    </section>
  );
}

function Hottest({ row, props }: { row: TemporaryRow; props: ViewProps }) {
  const lines = useMemo(() => props.answer.frames(row.hottest), [props.answer, row.hottest]);
  return (
    <div>
      <h3>
        <Percent of={row.hottestShare} /> of this by {row.backtraces === 1 ? "its only backtrace" : `the hottest of ${counted(row.backtraces, "backtrace")}`}
      </h3>
      <Backtrace lines={lines} onPick={(line) => props.go("sandwich", { fn: line.function ?? "" })} />
    </div>
  );
}

function partOf(row: TemporaryRow): number | null {
  const all = row.allocated.objects.value;
  return all > 0 ? row.temporary.objects.value / all : null;
}

export const view: View = { id: "temporary", title: "Temporary", key: "", isFor: () => true, component: TemporaryView };
