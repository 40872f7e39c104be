// Changes as tables: of the totals, and of places.

import { useMemo, useState } from "preact/hooks";
import type { Change, Difference, Metric } from "../../engine/api";
import { placeColumn } from "../parts/columns";
import { change as changeText, count, counted, metricName, plain, pValue, relative, unitOf } from "../parts/format";
import { ChangeNumber } from "../parts/Number";
import { Table, type Column } from "../parts/Table";
import { Choices, Toolbar } from "../parts/Toolbar";

/** What is to be thought of a change, in words. */
export function judgement(of: Change): string {
  if (of.change === 0) return "equal";
  return of.significant ? "significant" : "may be noise";
}

type Total = Change & { metric: Metric };

export function Totals(props: { totals: Record<string, Change>; isTold(metric: Metric): boolean }) {
  const all = Object.entries(props.totals).map(([metric, change]) => ({ ...change, metric: metric as Metric }));
  const rows = all.filter(({ metric }) => props.isTold(metric));
  const name: Column<Total> = { id: "metric", title: "", label: "metric", head: true, text: (row) => metricName(row.metric), cell: (row) => metricName(row.metric) };
  return <Table fit caption="Totals" columns={[name, ...columnsOf<Total>((row) => row.metric)]} rows={rows} rowKey={(row) => row.metric} />;
}

export type By = "callsite" | "function";

export interface PlacesProps {
  difference: Difference;
  by: By;
  onBy(by: By): void;
  sort: string;
  onSort(sort: string): void;
  onPick(name: string): void;
}

export function Places(props: PlacesProps) {
  const { difference, by } = props;
  const { metric } = difference;
  const [which, setWhich] = useState<"significant" | "all">("significant");
  const changes = useMemo(() => (by === "function" ? difference.functions() : difference.changes), [difference, by]);
  const changed = useMemo(() => changes.filter((it) => it.change !== 0), [changes]);
  const significant = useMemo(() => changed.filter((it) => it.significant), [changed]);
  const rows = which === "all" ? changed : significant;
  const place = placeColumn<Change>(by, (row) => row.line, (line) => props.onPick(line.function!));
  return (
    <>
      <Toolbar label="Which changes">
        <Choices
          label="By"
          value={by}
          onChoose={props.onBy}
          choices={[
            { value: "callsite", label: "By callsite" },
            { value: "function", label: "By function", title: "Functions with all that they call" },
          ]}
        />
        <Choices
          label="Which"
          value={which}
          onChoose={(which: "significant" | "all") => setWhich(which)}
          choices={[
            { value: "significant", label: `Significant (${significant.length})` },
            { value: "all", label: `All (${changed.length})` },
          ]}
        />
      </Toolbar>
      <p class="lead">
        {counted(significant.length, by)} of {count(changes.length)} changed significantly
        {which === "significant" && changed.length > significant.length && `; ${counted(changed.length - significant.length, "other change")} may be noise`}
      </p>
      <Table
        caption={`Changes by ${by}`}
        columns={withPlace(columnsOf<Change>(() => metric), place)}
        rows={rows}
        rowKey={(row, at) => `${row.line?.id ?? "none"} ${at}`}
        sort={props.sort}
        onSort={props.onSort}
        empty={`No ${by} changed significantly.`}
      />
    </>
  );
}

/** Beside the change, where it can be seen in a narrow window, too. */
function withPlace(columns: Column<Change>[], place: Column<Change>): Column<Change>[] {
  return [...columns.slice(0, 2), place, ...columns.slice(2)];
}

function columnsOf<Row extends Change>(metric: (row: Row) => Metric): Column<Row>[] {
  const unit = (row: Row) => unitOf(metric(row));
  const side = (id: "before" | "after"): Column<Row> => ({
    id,
    title: id,
    numeric: true,
    key: (row) => row[id],
    text: (row) => plain(row[id], unit(row)),
    cell: (row) => <span class="number">{plain(row[id], unit(row))}</span>,
  });
  return [
    {
      id: "change",
      title: "change",
      numeric: true,
      key: (row) => row.change,
      text: (row) => changeText(row.change, row.interval, unit(row)),
      cell: (row) => <ChangeNumber change={row.change} halfWidth={row.interval} unit={unit(row)} significant={row.significant} />,
    },
    {
      id: "relative",
      title: "",
      label: "relative change",
      numeric: true,
      text: (row) => relative(row.before, row.after),
      cell: (row) => <span class={row.significant ? "number" : "number noise"}>{relative(row.before, row.after)}</span>,
    },
    {
      id: "judgement",
      title: "",
      label: "significance",
      text: judgement,
      cell: (row) => <span class={row.significant ? "" : "muted"}>{judgement(row)}</span>,
    },
    {
      id: "p",
      title: "p",
      help: "The chance of a change like this by sampling alone, corrected for how many are looked at",
      numeric: true,
      key: (row) => row.pValue,
      text: (row) => pValue(row.pValue),
      cell: (row) => <span class="number muted">{pValue(row.pValue)}</span>,
    },
    side("before"),
    side("after"),
  ];
}
