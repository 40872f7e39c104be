// Several processes: what each has, who started whom, and all of them added up.

import { useMemo } from "preact/hooks";
import type { Answer, Callsite, Quantity, Trace } from "../../engine/api";
import { asked, isMistake } from "../answers";
import { Bar } from "../parts/Bar";
import { count, measure, percent } from "../parts/format";
import { Location } from "../parts/Location";
import { baseName, brief, callsiteTerm } from "../parts/names";
import { Amount, Estimate } from "../parts/Number";
import { duration } from "../parts/spans";
import { Table, type Column } from "../parts/Table";
import type { View, ViewProps } from "../view";

const FIRST = 20;

interface Row {
  trace: Trace;
  number: number;
  /** Null where the question cannot be asked of it. */
  answer: Answer | null;
  share: number;
  depth: number;
}

function Processes(props: ViewProps) {
  const { traces, answer, engine } = props;
  const { question } = answer;
  const answers = useMemo(() => traces.map((trace) => asked(trace, question)), [traces, question]);
  const good = useMemo(() => answers.filter((it): it is Answer => !isMistake(it)), [answers]);
  const rows = useMemo(() => family(traces, answers), [traces, answers]);
  const sum = useMemo(() => engine.together(good), [good]);
  return (
    <div class="processes">
      <section>
        <h2>
          Processes <span class="muted">· by {measure(question.metric)}</span>
        </h2>
        <Table caption="Processes" columns={columns(props)} rows={rows} rowKey={({ number }) => number} />
      </section>
      <section>
        <h2>
          All together <span class="muted">· each at its own peak</span>
        </h2>
        <dl class="sums">
          <Sum name="allocated" of={sum.totals.allocated} />
          {sum.totals.promoted.samples > 0 && <Sum name="promoted" of={sum.totals.promoted} />}
          <Sum name="peaks" of={sum.totals.peak} />
          <Sum name="live at the ends" of={sum.totals.live} />
        </dl>
        <Together callsites={sum.callsites} {...props} />
      </section>
    </div>
  );
}

function Sum({ name, of }: { name: string; of: Quantity }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        <Amount of={of} /> {of.samples > 0 && <span class="muted">in <Amount of={of} unit="objects" /> objects</span>}
      </dd>
    </div>
  );
}

function columns({ current, choose, go, traces }: ViewProps): Column<Row>[] {
  const of = (id: "allocated" | "peak" | "live") => (row: Row) => row.answer && <Amount of={row.answer.totals[id]} facts={row.trace.facts} />;
  const bytes = (id: "allocated" | "peak" | "live") => (row: Row) => row.answer?.totals[id].bytes.value ?? null;
  const all: Column<Row>[] = [
    { id: "process", title: "process", head: true, cell: (row) => <Process row={row} isCurrent={row.number === current} choose={() => choose(row.number)} /> },
    { id: "pid", title: "pid", numeric: true, key: ({ trace }) => trace.facts.pid, cell: ({ trace }) => trace.facts.pid ?? "" },
    { id: "share", title: "share", numeric: true, key: ({ share }) => share, cell: ({ share }) => percent(share) },
    { id: "bar", title: "", label: "Share as a bar", cell: ({ share }) => <Bar share={share} /> },
    { id: "allocated", title: "allocated", numeric: true, key: bytes("allocated"), cell: of("allocated") },
    { id: "peak", title: "peak", numeric: true, key: bytes("peak"), cell: of("peak") },
    { id: "live", title: "live at end", numeric: true, key: bytes("live"), cell: of("live") },
    { id: "for", title: "for", numeric: true, key: ({ trace }) => trace.facts.duration, cell: ({ trace }) => duration(trace.facts.duration) },
    { id: "file", title: "trace", wide: true, key: ({ trace }) => trace.facts.file, cell: ({ trace }) => <span class="muted place" title={brief(trace.facts.file)}>{brief(baseName(trace.facts.file))}</span> },
    {
      id: "compare",
      title: "",
      label: "Compare",
      cell: (row) =>
        row.number !== current && (
          <button type="button" class="quiet" aria-label={`Compare with ${brief(row.trace.facts.program, 60)}`} onClick={() => go("diff", { at: String(current), bt: String(row.number) })}>
            Compare
          </button>
        ),
    },
  ];
  return all.filter(({ id }) => id !== "compare" || traces.length > 1);
}

function Process({ row, isCurrent, choose }: { row: Row; isCurrent: boolean; choose(): void }) {
  const { trace, depth } = row;
  const name = brief(trace.facts.program || baseName(trace.facts.file), 80);
  return (
    <span class="process" style={{ paddingLeft: `${depth * 18}px` }}>
      {depth > 0 && <span class="muted" aria-label="child:">└ </span>}
      <button type="button" class="link name" aria-current={isCurrent} onClick={choose} title="Look at this process">
        {name}
      </button>
      {isCurrent && <span class="badge">shown</span>}
    </span>
  );
}

/** Parents before their children, each family by what it has. */
function family(traces: Trace[], answers: (Answer | object)[]): Row[] {
  const amounts = answers.map((answer) => (isMistake(answer) ? 0 : amountOf(answer as Answer)));
  const all = amounts.reduce((sum, amount) => sum + amount, 0);
  const parents = traces.map((trace) => parentOf(trace, traces));
  const rows: Row[] = [];
  const add = (number: number, depth: number) => {
    const answer = answers[number];
    rows.push({ trace: traces[number], number, answer: isMistake(answer) ? null : (answer as Answer), share: all > 0 ? amounts[number] / all : 0, depth });
    childrenOf(number).forEach((child) => add(child, depth + 1));
  };
  const childrenOf = (parent: number | null) => [...parents.keys()].filter((child) => parents[child] === parent).sort((a, b) => amounts[b] - amounts[a]);
  childrenOf(null).forEach((root) => add(root, 0));
  return rows;
}

function amountOf({ question, totals, callsites }: Answer): number {
  switch (question.metric) {
    case "objects":
      return totals.allocated.objects.value;
    case "byte-seconds":
      return callsites().reduce((sum, { byteSeconds }) => sum + byteSeconds.value, 0);
    default:
      return totals[question.metric].bytes.value;
  }
}

/** The trace of the process that started this one, which must be older: there are no circles. */
function parentOf(trace: Trace, traces: Trace[]): number | null {
  const facts = trace.documents.summary?.trace?.facts;
  const pid = facts?.parent_trace?.pid ?? facts?.parent_pid;
  if (!pid) return null;
  const found = traces.findIndex((other) => other !== trace && other.facts.pid === pid && started(other) < started(trace));
  return found < 0 ? null : found;
}

function started({ facts, documents }: Trace): number {
  return documents.summary?.trace?.start_time_us ?? facts.start_unix_us ?? 0;
}

function Together({ callsites, answer, narrow }: ViewProps & { callsites: Callsite[] }) {
  const { metric } = answer.question;
  const rows = useMemo(() => callsites.slice(0, FIRST), [callsites]);
  const pick = ({ line }: Callsite) => {
    const term = callsiteTerm(line);
    return term === null ? undefined : () => narrow(term);
  };
  const value = (row: Callsite) => {
    if (metric === "byte-seconds") return <Estimate of={row.byteSeconds} unit="byte-seconds" />;
    return metric === "objects" ? <Amount of={row.allocated} unit="objects" /> : <Amount of={row[metric]} />;
  };
  const columns: Column<Callsite>[] = [
    { id: "share", title: "share", numeric: true, cell: (row) => percent(row.share) },
    { id: "bar", title: "", label: "Share as a bar", cell: (row) => <Bar share={row.share} /> },
    { id: "amount", title: measure(metric), numeric: true, cell: value },
    { id: "place", title: "callsite", head: true, wide: true, cell: (row) => <Location line={row.line} onPick={pick(row)} /> },
  ];
  return (
    <>
      <h3>
        Callsites of all processes
        {callsites.length > FIRST && <span class="muted"> · the first {FIRST} of {count(callsites.length)}</span>}
      </h3>
      <Table caption="Callsites of all processes" columns={columns} rows={rows} rowKey={(_, at) => at} />
    </>
  );
}

export const view: View = {
  id: "processes",
  title: "Processes",
  key: "p",
  isFor: (_, traces) => traces.length > 1,
  component: (props) => <Processes {...props} />,
};
