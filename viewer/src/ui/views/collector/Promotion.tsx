// What moved to the old heap, what of it died soon after, and what a larger young heap would spare.

import { useMemo } from "preact/hooks";
import type { Line, Trace } from "../../../engine/api";
import { bytes, count, percent } from "../../parts/format";
import { Location } from "../../parts/Location";
import { callsiteTerm, functionOf } from "../../parts/names";
import { Amount, amountText } from "../../parts/Number";
import { range } from "../../parts/spans";
import { Table, type Column } from "../../parts/Table";
import { line, proportion, quantity } from "../../words/documents";

interface PromotionProps {
  promotion: any;
  trace: Trace;
  narrow(term: string): void;
}

export function Promotion({ promotion, trace, narrow }: PromotionProps) {
  const { facts } = trace;
  const { promoted, premature, promoted_share: share, promoted_share_low95: low, promoted_share_high95: high } = promotion;
  return (
    <>
      <section class="words">
        <h2>Promotion</h2>
        <p>
          {amountText(quantity(promoted), "bytes", facts)} of {amountText(quantity(promotion.young), "bytes", facts)} were promoted: {proportion(share, low, high)}.
        </p>
        {premature && promoted.samples > 0 && (
          <p>
            Premature: {amountText(quantity(premature), "bytes", facts)}, {percent(premature.bytes / promoted.bytes)} of that, found dead by one of the first two major collections after.
          </p>
        )}
      </section>
      {promotion.larger && promoted.samples > 0 && <Larger promotion={promotion} trace={trace} />}
      {promotion.callsites.length > 0 && <Callsites promotion={promotion} trace={trace} narrow={narrow} />}
    </>
  );
}

interface Size {
  times: number;
  promoted: string;
  less: string;
}

/** What would be promoted with a young heap of two, four, and eight times the size. */
function Larger({ promotion, trace }: { promotion: any; trace: Trace }) {
  const { larger, promoted, young_heap_bytes: size, young_heap_words: words } = promotion;
  const isOcaml = trace.facts.sources.some(({ ocaml }) => ocaml);
  const less = (of: number) => Math.max(0, 100 * (1 - of / promoted.bytes)).toFixed(0);
  const rows: Size[] = [
    { times: 1, promoted: amountText(quantity(promoted), "bytes", trace.facts), less: "now" },
    ...larger.map((it: any) => ({
      times: it.times,
      promoted: `about ${bytes(it.promoted_bytes)} (${range(bytes(it.promoted_bytes_low95), bytes(it.promoted_bytes_high95))})`,
      less: `${less(it.promoted_bytes)} % (${less(it.promoted_bytes_high95)}–${less(it.promoted_bytes_low95)})`,
    })),
  ];
  const setting = ({ times }: Size) => (words && isOcaml ? <code>{times === 1 ? `s=${words}` : `OCAMLRUNPARAM=s=${words * times}`}</code> : `${times} ×`);
  const columns: Column<Size>[] = [
    { id: "size", title: "young heap", numeric: true, head: true, cell: ({ times }) => `${words ? "" : "about "}${bytes(size * times)}` },
    { id: "setting", title: "setting", cell: setting },
    { id: "promoted", title: "promoted", numeric: true, cell: ({ promoted }) => <span class="number">{promoted}</span> },
    { id: "less", title: "less", numeric: true, cell: ({ less }) => <span class="number">{less}</span> },
    { id: "rest", title: "", label: "Nothing", wide: true, cell: () => "" },
  ];
  return (
    <section>
      <h2>With a larger young heap</h2>
      <Table caption="Promotion with a larger young heap" columns={columns} rows={rows} rowKey={({ times }) => times} />
      <p class="muted">The ranges hold the truth if collections come when the young heap is full, and the program does the same again.</p>
    </section>
  );
}

interface Site {
  of: any;
  line: Line;
}

function Callsites({ promotion, trace, narrow }: PromotionProps) {
  const { facts } = trace;
  const rows = useMemo(() => promotion.callsites.map((of: any): Site => ({ of, line: line(of) })), [promotion]);
  const pick = (line: Line) => {
    const term = callsiteTerm(line);
    return term === null ? undefined : () => narrow(term);
  };
  const columns: Column<Site>[] = [
    { id: "share", title: "share", numeric: true, key: ({ of }) => of.share, cell: ({ of }) => percent(of.share) },
    { id: "promoted", title: "promoted", numeric: true, key: ({ of }) => of.promoted.bytes, cell: ({ of }) => <Amount of={quantity(of.promoted)} facts={facts} /> },
    { id: "place", title: "callsite", head: true, wide: true, key: ({ line }) => functionOf(line), cell: ({ line }) => <Location line={line} onPick={pick(line)} /> },
    { id: "young", title: "of what was born young", numeric: true, key: ({ of }) => of.promoted_share, cell: ({ of }) => proportion(of.promoted_share, of.promoted_share_low95, of.promoted_share_high95) },
    { id: "premature", title: "premature", help: "found dead by one of the first two major collections after", numeric: true, key: ({ of }) => of.premature?.bytes ?? null, cell: ({ of }) => (of.premature ? <Amount of={quantity(of.premature)} facts={facts} /> : "") },
  ];
  const left = promotion.callsites_total - rows.length;
  return (
    <section>
      <h2>
        Who is promoted {left > 0 && <span class="muted">· the first {rows.length} of {count(promotion.callsites_total)} callsites</span>}
      </h2>
      <Table caption="Callsites by bytes promoted" columns={columns} rows={rows} rowKey={(row) => rows.indexOf(row)} />
    </section>
  );
}
