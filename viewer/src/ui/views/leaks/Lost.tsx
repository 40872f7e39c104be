// What a look through the process's memory found: blocks that nothing points to, and who points to the others.

import { useMemo } from "preact/hooks";
import type { Line, Trace } from "../../../engine/api";
import { count, percent } from "../../parts/format";
import { Backtrace, Location } from "../../parts/Location";
import { briefSource, callsiteTerm, functionOf, printable } from "../../parts/names";
import { Amount, amountText } from "../../parts/Number";
import { Table, type Column } from "../../parts/Table";
import { line, proportion, quantity } from "../../words/documents";

interface LostProps {
  lost: any;
  trace: Trace;
  narrow(term: string): void;
}

interface Loser {
  of: any;
  line: Line;
}

function place(narrow: (term: string) => void) {
  return ({ line }: { line: Line }) => {
    const term = callsiteTerm(line);
    return <Location line={line} onPick={term === null ? undefined : () => narrow(term)} />;
  };
}

/** Callsites that have lost blocks. */
export function Losers({ lost, trace, narrow }: LostProps) {
  const rows = useMemo(() => lost.callsites.filter(({ lost }: any) => lost.samples > 0).map((of: any): Loser => ({ of, line: line(of) })), [lost]);
  const columns: Column<Loser>[] = [
    { id: "lost", title: "lost", numeric: true, key: ({ of }) => of.lost.bytes, cell: ({ of }) => <Amount of={quantity(of.lost)} facts={trace.facts} /> },
    { id: "objects", title: "objects", numeric: true, key: ({ of }) => of.lost.objects, cell: ({ of }) => <Amount of={quantity(of.lost)} unit="objects" facts={trace.facts} /> },
    { id: "share", title: "of what lives from here", numeric: true, key: ({ of }) => of.share, cell: ({ of }) => proportion(of.share, of.share_low95, of.share_high95) },
    { id: "place", title: "callsite", head: true, wide: true, key: ({ line }) => functionOf(line), cell: place(narrow) },
  ];
  return (
    <section>
      <h2>
        Lost <span class="muted">· nothing points to these blocks any more</span>
      </h2>
      <Table caption="Lost blocks by callsite" columns={columns} rows={rows} rowKey={(row) => rows.indexOf(row)} detail={(row) => <Detail of={row.of} trace={trace} />} />
    </section>
  );
}

function Detail({ of, trace }: { of: any; trace: Trace }) {
  const others = quantity(of.lost_with_others);
  const hottest = of.hottest_backtrace;
  return (
    <div>
      {others.samples > 0 && <p>{amountText(others, "bytes", trace.facts)} of it would be found from other blocks that are lost.</p>}
      {hottest ? (
        <>
          <p class="muted">{of.backtraces === 1 ? "By its only backtrace:" : `${percent(hottest.share)} of this by the hottest of ${count(of.backtraces)} backtraces:`}</p>
          <Backtrace lines={hottest.frames.map(line)} />
        </>
      ) : (
        <p class="muted">No backtrace of it is in the page.</p>
      )}
    </div>
  );
}

interface Holding {
  line: Line;
  held: any;
  by: string;
  more: number;
}

/** What points to what is not lost. */
export function Held({ lost, trace, narrow }: LostProps) {
  const rows = useMemo(() => lost.callsites.flatMap(holdings).sort((a: Holding, b: Holding) => b.held.bytes - a.held.bytes), [lost]);
  if (rows.length === 0) return null;
  const columns: Column<Holding>[] = [
    { id: "held", title: "held", numeric: true, key: ({ held }) => held.bytes, cell: ({ held }) => <Amount of={quantity(held)} facts={trace.facts} /> },
    { id: "place", title: "callsite", head: true, wide: true, key: ({ line }) => functionOf(line), cell: place(narrow) },
    { id: "by", title: "by", key: ({ by }) => by, cell: ({ by, more }) => (more ? `${by}, and ${more} more` : by) },
  ];
  return (
    <section>
      <h2>
        Held <span class="muted">· what points to the rest</span>
      </h2>
      <Table caption="What holds the rest" columns={columns} rows={rows} rowKey={(row) => rows.indexOf(row)} />
    </section>
  );
}

/** Of a callsite, the holder that has most. */
function holdings(of: any): Holding[] {
  const all = [...(of.held_by ?? [])].sort((a, b) => b.held.bytes - a.held.bytes);
  if (all.length === 0) return [];
  const held = all.length === 1 ? all[0].held : sum(all.map(({ held }) => held));
  return [{ line: line(of), held, by: holder(all[0]), more: all.length - 1 }];
}

function sum(quantities: any[]): any {
  const total = (name: string) => quantities.reduce((sum, of) => sum + (of[name] ?? 0), 0);
  const reach = (value: string, end: string) => Math.sqrt(quantities.reduce((sum, of) => sum + ((of[end] ?? of[value]) - of[value]) ** 2, 0));
  const bytes = total("bytes");
  return { samples: total("samples"), bytes, bytes_low95: bytes - reach("bytes", "bytes_low95"), bytes_high95: bytes + reach("bytes", "bytes_high95") };
}

function holder({ holder, name, callsite }: any): string {
  switch (holder) {
    case "variable":
      return printable(name ?? "a variable");
    case "block": {
      const source = briefSource(line(callsite));
      return `blocks of ${functionOf(line(callsite))}${source ? ` (${source})` : ""}`;
    }
    case "kernel":
      return "the kernel (epoll, timers)";
    case "thread":
      return `thread ${printable(name ?? "")}`;
    case "file":
      return `memory of ${printable(name ?? "")}`;
    default:
      return "memory that was not sampled";
  }
}
