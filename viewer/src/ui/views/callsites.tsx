// Where memory is allocated: the table of callsites, each with its backtraces and its growth.

import { useMemo } from "preact/hooks";
import type { Answer, Callsite, Metric } from "../../engine/api";
import type { Facts } from "../../engine/facts";
import { matcher } from "../flame/search";
import { amountColumn, estimateColumn, placeColumn, shareColumn } from "../parts/columns";
import { count, counted, isNoise, measure, metricName, percent, unitOf } from "../parts/format";
import { Backtrace } from "../parts/Location";
import { callsiteTerm, frameOf } from "../parts/names";
import { Estimate, Percent } from "../parts/Number";
import { Spark } from "../parts/Spark";
import { Table, type Column } from "../parts/Table";
import { Search, Toolbar } from "../parts/Toolbar";
import { tells, tellsMetric } from "../told";
import type { View, ViewProps } from "../view";

const GROWTH_STEPS = 120;
const BACKTRACES = 5;

function CallsitesView(props: ViewProps) {
  const { answer, state, setState, trace } = props;
  const { metric } = answer.question;
  const all = useMemo(() => answer.callsites(), [answer]);
  const text = state.find ?? "";
  const rows = useMemo(() => {
    const matches = matcher(text);
    return matches ? all.filter((row) => row.line !== null && matches(row.line)) : all;
  }, [all, text]);
  const columns = useMemo(() => columnsOf(answer, trace.facts), [answer, trace]);
  const share = rows.reduce((sum, row) => sum + row.share, 0);
  return (
    <section class="views">
      <Toolbar label="Callsites">
        <Search
          label="Search callsites"
          value={text}
          onSearch={(find) => setState({ find })}
          said={text === "" ? "" : `${counted(rows.length, "callsite")}, ${percent(share)}`}
        />
      </Toolbar>
      <p class="lead">
        {counted(all.length, "callsite")} by {measure(metric)}. A row opens its backtraces.
      </p>
      <Table
        caption={`Callsites by ${measure(metric)}`}
        columns={columns}
        rows={rows}
        rowKey={(row) => row.id}
        sort={state.sort}
        onSort={(sort) => setState({ sort })}
        opened={state.open}
        onOpen={(open) => setState({ open })}
        detail={(row) => <Detail row={row} props={props} />}
        empty={text ? "No callsite has this in its name." : "Nothing is chosen."}
      />
    </section>
  );
}

function columnsOf(answer: Answer, facts: Facts): Column<Callsite>[] {
  const { metric } = answer.question;
  const noise = (row: Callsite) => isNoise(row.value, samplesOf(row, answer));
  const amounts: Column<Callsite>[] = [
    amountColumn("allocated", metricName("allocated"), (row) => row.allocated, "bytes", facts),
    amountColumn("live", metricName("live"), (row) => row.live, "bytes", facts),
    amountColumn("peak", metricName("peak"), (row) => row.peak, "bytes", facts),
    amountColumn("objects", metricName("objects"), (row) => row.allocated, "objects", facts),
    estimateColumn("byte-seconds", metricName("byte-seconds"), (row) => row.byteSeconds, "byte-seconds"),
  ];
  const asked = amounts.find((column) => column.id === metric)!;
  const others = amounts.filter((column) => column !== asked && tellsMetric(facts, column.id as Metric));
  const place = placeColumn<Callsite>("callsite", (row) => row.line);
  return [shareColumn((row) => row.share, noise), asked, place, ...others, backtracesColumn];
}

const backtracesColumn: Column<Callsite> = {
  id: "backtraces",
  title: "backtraces",
  numeric: true,
  key: (row) => row.backtraces,
  cell: (row) => <span class="number">{count(row.backtraces)}</span>,
};

function samplesOf(row: Callsite, answer: Answer): number {
  const { metric } = answer.question;
  return metric === "live" ? row.live.samples : metric === "peak" ? row.peak.samples : row.allocated.samples;
}

/** What a callsite's row opens. */
function Detail({ row, props }: { row: Callsite; props: ViewProps }) {
  const { answer, go, narrow, ask, trace } = props;
  const unit = unitOf(answer.question.metric);
  const backtraces = useMemo(() => answer.backtraces(row.id, BACKTRACES), [answer, row.id]);
  const growth = useMemo(() => answer.growth(row.id, GROWTH_STEPS), [answer, row.id]);
  const term = callsiteTerm(row.line);
  const frame = frameOf(row.line);
  return (
    <div class="site">
      <div class="actions">
        <button type="button" class="quiet" disabled={term === null} onClick={() => narrow(term!)}>
          Only this callsite
        </button>
        <button type="button" class="quiet" disabled={frame === null} onClick={() => go("sandwich", { fn: row.line!.function! })}>
          Callers and callees
        </button>
        {tells(trace.facts, "lifetimes") && (
          <button type="button" class="quiet" onClick={() => go("lifetimes", { site: String(row.id) })}>
            Lifetimes
          </button>
        )}
        <button type="button" class="quiet" disabled={frame === null} onClick={() => ask({ hide: [...answer.question.hide, frame!] })}>
          Hide this function
        </button>
      </div>
      {tells(trace.facts, "times", "live") && (
        <>
          <h3>Live bytes from the start to the end</h3>
          <Spark values={growth} label="Live bytes" />
        </>
      )}
      {backtraces.map((it, at) => (
        <div key={at}>
          <h3>
            <Percent of={it.share} /> of this, <Estimate of={it.total} unit={unit} />
            {row.backtraces === 1 ? ", by its only backtrace" : at === 0 ? ` by the hottest of ${count(row.backtraces)} backtraces` : ""}
          </h3>
          <Backtrace lines={it.lines} onPick={(line) => go("sandwich", { fn: line.function ?? "" })} />
        </div>
      ))}
      {row.backtraces > backtraces.length && <p class="note">and {counted(row.backtraces - backtraces.length, "other backtrace")}</p>}
    </div>
  );
}

export const view: View = { id: "callsites", title: "Callsites", key: "5", isFor: () => true, component: CallsitesView };
