// What functions ask for themselves, and with all that they call.

import { useMemo } from "preact/hooks";
import type { FunctionRow, Line } from "../../engine/api";
import { matcher } from "../flame/search";
import { estimateColumn, placeColumn, shareColumn } from "../parts/columns";
import { counted, isNoise, measure, percent, unitOf, type Unit } from "../parts/format";
import { Percent } from "../parts/Number";
import { Table, type Column } from "../parts/Table";
import { Search, Toolbar } from "../parts/Toolbar";
import type { View, ViewProps } from "../view";

function FunctionsView(props: ViewProps) {
  const { answer, state, setState, go } = props;
  const { metric } = answer.question;
  const all = useMemo(() => answer.functions(), [answer]);
  const text = state.find ?? "";
  const rows = useMemo(() => {
    const matches = matcher(text);
    return matches ? all.filter((row) => matches(lineOf(row))) : all;
  }, [all, text]);
  const columns = useMemo(() => columnsOf(unitOf(metric), (fn) => go("sandwich", { fn })), [metric, go]);
  return (
    <section class="views">
      <Toolbar label="Functions">
        <Search
          label="Search functions"
          value={text}
          onSearch={(find) => setState({ find })}
          said={text === "" ? "" : counted(rows.length, "function")}
        />
      </Toolbar>
      <p class="lead">
        {counted(all.length, "function")} by {measure(metric)}, what they called included. A function that calls itself counts once.
      </p>
      <Table
        caption={`Functions by ${measure(metric)}`}
        columns={columns}
        rows={rows}
        rowKey={(row, at) => `${row.function} ${row.file} ${at}`}
        sort={state.sort}
        onSort={(sort) => setState({ sort })}
        empty={text ? "No function has this in its name." : "Nothing is chosen."}
      />
    </section>
  );
}

function columnsOf(unit: Unit, onPick: (name: string) => void): Column<FunctionRow>[] {
  return [
    shareColumn((row) => row.totalShare, (row) => isNoise(row.total), "Of all, what it called included"),
    estimateColumn("total", "total", (row) => row.total, unit, "What it called included"),
    placeColumn("function", lineOf, (line) => onPick(line.function!)),
    {
      id: "own-share",
      title: "own share",
      help: "What it allocated itself: it is the callsite",
      numeric: true,
      key: (row) => row.ownShare,
      text: (row) => (row.ownShare > 0 ? percent(row.ownShare) : ""),
      cell: (row) => row.ownShare > 0 && <Percent of={row.ownShare} noise={isNoise(row.own)} />,
    },
    estimateColumn("own", "own", (row) => row.own, unit),
  ];
}

function lineOf(row: FunctionRow): Line {
  const { function: name, code, file, line } = row;
  return { id: -1, function: name, code, file, line, module: null, inlined: false, machinery: false };
}

export const view: View = { id: "functions", title: "Functions", key: "7", isFor: () => true, component: FunctionsView };
