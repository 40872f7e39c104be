// The first page: the answer in words, the totals, and who has most.

import { useMemo } from "preact/hooks";
import type { Answer, Callsite, Metric, Quantity, Trace } from "../../engine/api";
import { Bar } from "../parts/Bar";
import { count, measure, percent } from "../parts/format";
import { Location } from "../parts/Location";
import { callsiteTerm, functionOf } from "../parts/names";
import { Amount, amountText, Estimate } from "../parts/Number";
import { duration } from "../parts/spans";
import { Table, type Column } from "../parts/Table";
import { tells } from "../told";
import type { View, ViewProps } from "../view";
import * as leaks from "../words/leaks";
import * as program from "../words/program";
import { Lead } from "./lead";

const FIRST = 10;
const LONGEST_FACT = 600;

function Summary(props: ViewProps) {
  const { trace, answer } = props;
  return (
    <div class="summary">
      <div class="answers">
        <Words {...props} />
        <Notices trace={trace} />
        <Totals trace={trace} answer={answer} />
        <First {...props} />
      </div>
      <Recording trace={trace} />
    </div>
  );
}

/** What is to be known at once; of the whole trace. */
function Words({ trace, answer, go }: ViewProps) {
  const verdict = leaks.verdict(trace);
  const lost = leaks.lost(trace);
  const rest = [...(verdict?.rest ?? []), program.young(trace), program.exactly(trace)];
  return (
    <section aria-labelledby="in-words" class="words">
      <h2 id="in-words">In words</h2>
      {verdict && <Lead isBad={verdict.isBad}>{verdict.first}</Lead>}
      {verdict && answer.canonical !== null && (
        <p class="proviso">What grows, lives and is lost is judged over the whole trace; the filter does not change it.</p>
      )}
      {lost?.isAny && <Lead isBad>{lost.summary}</Lead>}
      {rest.filter(Boolean).map((text) => (
        <p key={text}>{text}</p>
      ))}
      <p>{most(trace, answer)}</p>
      {lost && !lost.isAny && <p>{lost.text}</p>}
      <p class="more">
        {verdict && (
          <button type="button" class="quiet" onClick={() => go("leaks")}>
            What grows, and why
          </button>
        )}{" "}
        {tells(trace.facts, "times") && (
          <button type="button" class="quiet" onClick={() => go("timeline")}>
            Over time
          </button>
        )}
      </p>
    </section>
  );
}

/** Of what the filter chose: how much was allocated, by whom most, and when most lived. */
function most(trace: Trace, answer: Answer): string {
  const { allocated, peak, peakTime } = answer.totals;
  if (allocated.samples === 0) return "";
  const { facts } = trace;
  const chosen = answer.canonical === null ? "" : " of what the filter chose";
  const first = answer.callsites()[0];
  const who = first ? ` The most ${measure(answer.question.metric)} are of ${functionOf(first.line)}: ${percent(first.share)}.` : "";
  const tellsWhen = peakTime !== null && peak.samples > 0 && tells(facts, "times", "peak");
  const when = tellsWhen ? ` Most lived ${duration(peakTime)} after the start: ${amountText(peak, "bytes", trace.facts)}.` : "";
  const all = tells(facts, "allocated") ? `${amountText(allocated, "bytes", facts)}${chosen} were allocated.` : "";
  return `${all}${who}${when}`.trim();
}

/** What makes the numbers less than the truth. */
function Notices({ trace }: { trace: Trace }) {
  const { notices = [], damage = [], thinned } = trace.facts;
  const all = [
    ...damage.map((text) => `Damaged: ${text}`),
    ...notices,
    ...(thinned ? [thinning(thinned)] : []),
  ];
  if (all.length === 0) return null;
  return (
    <section class="notices" aria-label="Notes">
      <ul>
        {all.map((text, at) => (
          <li key={at}>{text}</li>
        ))}
      </ul>
    </section>
  );
}

function thinning({ kept, of }: { kept: number; of: number }): string {
  return `This page has ${count(kept)} of the trace's ${count(of)} samples: its estimates are right, and their intervals wider than those of lifetrace report.`;
}

const objects: Column<TotalRow> = { id: "objects", title: "objects", numeric: true, cell: (row) => <Objects of={row.of} /> };

interface TotalRow {
  name: string;
  of: Quantity;
  note: string;
}

/** Of the blocks that the filter chose. */
function Totals({ trace, answer }: { trace: Trace; answer: Answer }) {
  const rows = useMemo(() => totals(answer, trace), [answer]);
  const columns: Column<TotalRow>[] = [
    { id: "name", title: "", label: "Amount", head: true, cell: (row) => row.name },
    { id: "bytes", title: "bytes", numeric: true, cell: (row) => <Amount of={row.of} facts={trace.facts} /> },
    ...(tells(trace.facts, "objects") ? [objects] : []),
    { id: "samples", title: "samples", numeric: true, cell: (row) => count(row.of.samples) },
    { id: "note", title: "", label: "When", wide: true, cell: (row) => <span class="muted">{row.note}</span> },
  ];
  return (
    <section aria-labelledby="totals">
      <h2 id="totals">Totals{answer.canonical ? " of what the filter chose" : ""}</h2>
      <Table caption="Totals" columns={columns} rows={rows} rowKey={(row) => row.name} />
    </section>
  );
}

function totals({ totals }: Answer, { facts }: Trace): TotalRow[] {
  const at = totals.peakTime === null || !tells(facts, "times") ? "" : `${duration(totals.peakTime)} after the start`;
  const rows = [
    { name: "allocated", of: totals.allocated, note: "", isTold: tells(facts, "allocated") },
    { name: "promoted", of: totals.promoted, note: "", isTold: totals.promoted.samples > 0 },
    { name: "peak", of: totals.peak, note: at, isTold: tells(facts, "peak") },
    { name: "live at end", of: totals.live, note: "", isTold: tells(facts, "live") },
  ];
  return rows.filter(({ isTold }) => isTold);
}

function Objects({ of }: { of: Quantity }) {
  if (of.samples === 0) return <span />;
  if (of.objects.value === 0) return <span class="number none">none new</span>;
  return <Estimate of={of.objects} unit="objects" samples={of.samples} />;
}

/** Callsites that have most of the metric. */
function First({ trace, answer, narrow, go }: ViewProps) {
  const { metric } = answer.question;
  const all = useMemo(() => answer.callsites(), [answer]);
  const rows = useMemo(() => all.slice(0, FIRST), [all]);
  const pick = (row: Callsite) => {
    const term = callsiteTerm(row.line);
    return term === null ? undefined : () => narrow(term);
  };
  const columns: Column<Callsite>[] = [
    { id: "share", title: "share", numeric: true, cell: (row) => percent(row.share) },
    { id: "bar", title: "", label: "Share as a bar", cell: (row) => <Bar share={row.share} /> },
    { id: "amount", title: measure(metric), numeric: true, cell: (row) => <Value of={row} metric={metric} trace={trace} /> },
    { id: "place", title: "callsite", head: true, wide: true, cell: (row) => <Location line={row.line} onPick={pick(row)} /> },
  ];
  return (
    <section aria-labelledby="first">
      <h2 id="first">
        Most {measure(metric)}
        {all.length > FIRST && <span class="muted"> · the first {FIRST} of {count(all.length)} callsites</span>}
      </h2>
      <Table caption={`Callsites by ${measure(metric)}`} columns={columns} rows={rows} rowKey={(row) => row.id} empty="No block was chosen." />
      <p class="more">
        <button type="button" class="quiet" onClick={() => go("callsites")}>
          All callsites
        </button>{" "}
        <button type="button" class="quiet" onClick={() => go("flame")}>
          Flame graph
        </button>
      </p>
    </section>
  );
}

function Value({ of, metric, trace }: { of: Callsite; metric: Metric; trace: Trace }) {
  switch (metric) {
    case "byte-seconds":
      return <Estimate of={of.byteSeconds} unit="byte-seconds" />;
    case "objects":
      return <Amount of={of.allocated} unit="objects" facts={trace.facts} />;
    default:
      return <Amount of={of[metric]} facts={trace.facts} />;
  }
}

function Recording({ trace }: { trace: Trace }) {
  return (
    <aside aria-labelledby="recording">
      <h2 id="recording">Recording</h2>
      <dl class="facts">
        {program.facts(trace).map(([name, text]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{text.length > LONGEST_FACT ? `${text.slice(0, LONGEST_FACT)}…` : text}</dd>
          </div>
        ))}
      </dl>
    </aside>
  );
}

export const view: View = {
  id: "summary",
  title: "Summary",
  key: "1",
  isFor: () => true,
  component: (props) => <Summary {...props} />,
};
