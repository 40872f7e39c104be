// Callsites that hold something at the end, by what their memory does: leaks first.

import { useMemo } from "preact/hooks";
import type { Line, Measured, Question, Trace } from "../../../engine/api";
import { count, estimate, percent } from "../../parts/format";
import { Backtrace, Location } from "../../parts/Location";
import { callsiteTerm, functionOf } from "../../parts/names";
import { Amount } from "../../parts/Number";
import { Sparkline } from "../../parts/Sparkline";
import { about } from "../../parts/spans";
import { Table, type Column } from "../../parts/Table";
import { line, quantity } from "../../words/documents";
import { evidence, pace } from "../../words/leaks";

/** As the document names them, and what a reader is told. */
const KINDS: [string, string, string][] = [
  ["leak", "Leaks", "they grow all the time, and keep what they have"],
  ["steps", "By steps", "leaks that come seldom, or tables that double"],
  ["filling", "No leaks as far as can be told", "they grow, but free what is as old"],
  ["plateau", "No leaks: level", "caches and the like, which hold level"],
  ["start-up", "No leaks: built up at the start", "and kept"],
  ["unknown", "Cannot be told", "too few samples, or up and down"],
];

interface GrowingProps {
  document: any;
  trace: Trace;
  narrow(term: string): void;
  go(view: string): void;
  opened: string;
  open(key: string): void;
}

/** A callsite of the document, with its number in it. */
interface Row {
  number: number;
  of: any;
  line: Line;
}

export function Growing(props: GrowingProps) {
  const { document } = props;
  const rows = useMemo(() => document.callsites.map((of: any, number: number): Row => ({ number, of, line: line(of) })), [document]);
  if (document.verdict === "too-short") {
    return <Group {...props} title="What lives at the end" about="too short a time to tell what it does" rows={rows} />;
  }
  const left = document.callsites_total - rows.length;
  return (
    <>
      {KINDS.map(([kind, title, about]) => {
        const of = rows.filter((row: Row) => row.of.kind === kind);
        return of.length > 0 && <Group key={kind} {...props} title={title} about={about} rows={of} />;
      })}
      {left > 0 && <p class="muted">{count(left)} more callsites hold something at the end; lifetrace report --view leaks --top has them.</p>}
    </>
  );
}

function Group(props: GrowingProps & { title: string; about: string; rows: Row[] }) {
  const { title, about, rows, document, trace, narrow, opened, open } = props;
  const all = useMemo(() => estimate(together(trace, rows), "bytes"), [trace, rows]);
  return (
    <section>
      <h2>
        {title}{" "}
        <span class="muted">
          · {about} · {all} of {count(rows.length)} {rows.length === 1 ? "callsite" : "callsites"}
        </span>
      </h2>
      <Table
        caption={title}
        columns={columns(document, trace, narrow)}
        rows={rows}
        rowKey={(row) => row.number}
        detail={(row) => <Detail row={row} document={document} />}
        opened={opened}
        onOpen={open}
      />
    </section>
  );
}

const WHOLE: Question = { filter: "", metric: "live", hide: [], focus: "", collapseRecursion: false };

/** What several callsites hold, by the page's samples; where these are not all, or places not clear, by the intervals of each. */
export function together(trace: Trace, rows: Pick<Row, "of" | "line">[]): Measured {
  const summed = sum(rows);
  const answer = trace.facts.thinned === null ? trace.ask(WHOLE) : null;
  const found = answer === null || "message" in answer ? null : answer.liveOf(rows.map(({ line }) => line));
  return found !== null && Math.abs(found.value - summed.value) <= 1e-3 * summed.value ? found : summed;
}

/** Variances of different samples add up. */
function sum(rows: Pick<Row, "of">[]): Measured {
  const amounts = rows.map(({ of }) => quantity(of.live_at_end).bytes);
  const value = amounts.reduce((sum, of) => sum + of.value, 0);
  const reach = (end: "low" | "high") => Math.sqrt(amounts.reduce((sum, of) => sum + (of[end] - of.value) ** 2, 0));
  return { value, low: value - reach("low"), high: value + reach("high") };
}

function columns({ verdict }: any, trace: Trace, narrow: (term: string) => void): Column<Row>[] {
  const pick = ({ line }: Row) => {
    const term = callsiteTerm(line);
    return term === null ? undefined : () => narrow(term);
  };
  return [
    { id: "live", title: "live at end", numeric: true, key: ({ of }) => of.live_at_end.bytes, cell: ({ of }) => <Amount of={quantity(of.live_at_end)} facts={trace.facts} /> },
    { id: "growth", title: "growth", numeric: true, key: ({ of }) => of.growth?.bytes_per_hour ?? null, cell: ({ of }) => <Pace of={of} verdict={verdict} /> },
    { id: "place", title: "callsite", head: true, wide: true, key: ({ line }) => functionOf(line), cell: (row) => <Location line={row.line} onPick={pick(row)} /> },
    { id: "curve", title: "live over time", cell: (row) => <Sparkline values={row.of.live_over_time_bytes} label={`Live bytes of ${functionOf(row.line)} over time`} /> },
    { id: "oldest", title: "the oldest", numeric: true, key: ({ of }) => of.oldest_us, cell: ({ of }) => about(of.oldest_us) },
    { id: "never", title: "never freed", numeric: true, key: ({ of }) => of.never_freed.share, cell: ({ of }) => percent(of.never_freed.share) },
  ];
}

function Pace({ of, verdict }: { of: any; verdict: string }) {
  const text = pace(of, verdict);
  const grows = of.kind === "leak" && verdict !== "too-short";
  return <span class={grows ? "number more" : "number noise"}>{text}</span>;
}

function Detail({ row, document }: { row: Row; document: any }) {
  const { of } = row;
  const hottest = of.hottest_backtrace;
  return (
    <div class="detail-of-leak">
      <Sparkline values={of.live_over_time_bytes} label={`Live bytes of ${functionOf(row.line)} over time`} width={420} height={72} />
      <ul>
        {evidence(of, document.limit_bytes).map((text) => (
          <li key={text}>{text}</li>
        ))}
      </ul>
      {hottest && (
        <>
          <p class="muted">
            {of.backtraces === 1 ? "By its only backtrace:" : `${percent(hottest.share)} of this by the hottest of ${count(of.backtraces)} backtraces:`}
          </p>
          <Backtrace lines={hottest.frames.map(line)} />
        </>
      )}
    </div>
  );
}
