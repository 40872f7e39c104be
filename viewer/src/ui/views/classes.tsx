// Which classes objects are of, and where most of each are allocated.

import { useMemo } from "preact/hooks";
import type { ClassRow } from "../../engine/api";
import type { Facts } from "../../engine/facts";
import { amountColumn, estimateColumn, shareColumn } from "../parts/columns";
import { counted, isNoise, measure, percent, unitOf } from "../parts/format";
import { Location, placeText } from "../parts/Location";
import { brief, quoted } from "../parts/names";
import { Table, type Column } from "../parts/Table";
import { tells } from "../told";
import type { View, ViewProps } from "../view";

function ClassesView(props: ViewProps) {
  const { answer, state, setState, trace, narrow } = props;
  const { metric } = answer.question;
  const rows = useMemo(() => answer.classes(), [answer]);
  const unit = unitOf(metric);
  const columns: Column<ClassRow>[] = [
    shareColumn((row) => row.share, (row) => isNoise(row.value)),
    estimateColumn("value", measure(metric), (row) => row.value, unit),
    nameColumn((name) => narrow(`class=${quoted(name)}`)),
    ...(metric === "allocated" || !tells(trace.facts, "allocated") ? [] : [amountColumn<ClassRow>("allocated", "allocated", (row) => row.allocated, "bytes", trace.facts)]),
    amountColumn("objects", "objects", (row) => row.allocated, "objects", trace.facts),
    ...(metric === "live" || !tells(trace.facts, "live") ? [] : [amountColumn<ClassRow>("live", "live at end", (row) => row.live, "bytes", trace.facts)]),
    callsiteColumn,
  ];
  return (
    <section class="views">
      <p class="lead">
        {counted(rows.length, "class", "classes")} by {measure(metric)}: of slots, what objects have from malloc is not in it. A click on a class
        chooses it.
      </p>
      <Table
        caption={`Classes by ${measure(metric)}`}
        columns={columns}
        rows={rows}
        rowKey={(row, at) => row.name ?? `-${at}`}
        sort={state.sort}
        onSort={(sort) => setState({ sort })}
        empty="None of what is chosen is an object with a class."
      />
    </section>
  );
}

function nameColumn(onPick: (name: string) => void): Column<ClassRow> {
  return {
    id: "class",
    title: "class",
    wide: true,
    head: true,
    key: (row) => row.name ?? "",
    cell: (row) =>
      row.name === null ? (
        <span class="muted">no class is known</span>
      ) : (
        <span class="place">
          <button type="button" class="link name" title={brief(row.name)} onClick={() => onPick(row.name!)}>
            {brief(row.name)}
          </button>
        </span>
      ),
  };
}

const callsiteColumn: Column<ClassRow> = {
  id: "callsite",
  title: "most of it at",
  key: (row) => (row.callsite ? placeText(row.callsite) : ""),
  text: (row) => (row.callsite ? `${percent(row.callsiteShare)}  ${placeText(row.callsite)}` : ""),
  cell: (row) =>
    row.callsite && (
      <span class="most-at">
        <span class="number muted">{percent(row.callsiteShare)}</span> <Location line={row.callsite} />
      </span>
    ),
};

/** Classes are of Ruby's objects. */
export function hasClasses(facts: Facts): boolean {
  return facts.sources.some((source) => source.ruby);
}

export const view: View = {
  id: "classes",
  title: "Classes",
  key: "",
  isFor: (trace) => hasClasses(trace.facts),
  component: ClassesView,
};
