// How long blocks live: by size, as a table of classes, and as the share that outlives a time.

import { useMemo } from "preact/hooks";
import type { Callsite, Density, Lifetimes } from "../../engine/api";
import { Heat } from "../lifetimes/Heat";
import { endOf, margins, mostOf } from "../lifetimes/cells";
import { sizeRange } from "../lifetimes/names";
import { Survival } from "../lifetimes/Survival";
import { Bar } from "../parts/Bar";
import { Disclosure } from "../parts/Disclosure";
import { percent, plain } from "../parts/format";
import { briefSource, functionOf } from "../parts/names";
import { lifetime, quantile, range } from "../parts/spans";
import { Percent } from "../parts/Number";
import { Table, type Column } from "../parts/Table";
import { Choices, Toolbar } from "../parts/Toolbar";
import type { View, ViewProps } from "../view";

/** Callsites that can be chosen. */
const CHOICE = 60;

function LifetimesView(props: ViewProps) {
  const { answer, state, setState, narrow } = props;
  const all = useMemo(() => answer.callsites(), [answer]);
  const site = all.find((it) => String(it.id) === state.site);
  const first = all.slice(0, CHOICE);
  const sites = site && !first.includes(site) ? [...first, site] : first;
  const lifetimes = useMemo(() => answer.lifetimes(site?.id), [answer, site]);
  const density = useMemo(() => answer.density(), [answer]);
  const of = state.cells === "objects" ? "objects" : "bytes";
  if (answer.samples === 0) return <p class="empty">Nothing is chosen.</p>;
  return (
    <section class="views">
      <h2>Lifetime by size</h2>
      <Toolbar label="Lifetime by size">
        <Choices
          label="Cells have"
          value={of}
          choices={[
            { value: "bytes", label: "Bytes" },
            { value: "objects", label: "Objects" },
          ]}
          onChoose={(value) => setState({ cells: value === "bytes" ? "" : value })}
        />
      </Toolbar>
      <Heat density={density} of={of} onChoose={narrow} />
      <Disclosure title="As a table" open={state.list === "1"} onToggle={(open) => setState({ list: open ? "1" : "" })}>
        <Cells density={density} of={of} onChoose={narrow} />
      </Disclosure>
      <h2>What outlives a time</h2>
      <Toolbar label="What outlives a time">
        <SiteChoice sites={sites} site={site} onChoose={(site) => setState({ site })} />
      </Toolbar>
      <p class="lead">{inWords(lifetimes, site)}</p>
      <Survival of={lifetimes} label={site ? functionOf(site.line) : "All blocks"} />
      <Classes of={lifetimes} />
      <p class="note">
        Blocks that are alive at the end lived for at least as long as they were watched: shares are those of Kaplan and Meier, with their
        95 % band.
      </p>
    </section>
  );
}

function SiteChoice(props: { sites: Callsite[]; site: Callsite | undefined; onChoose(id: string): void }) {
  return (
    <label class="check">
      of
      <select value={props.site ? String(props.site.id) : ""} onChange={(event) => props.onChoose(event.currentTarget.value)}>
        <option value="">all blocks</option>
        {props.sites.map((site) => (
          <option key={site.id} value={String(site.id)}>
            {`${percent(site.share)}  ${functionOf(site.line).slice(0, 70)}  ${briefSource(site.line).slice(0, 50)}`}
          </option>
        ))}
      </select>
    </label>
  );
}

function inWords(of: Lifetimes, site: Callsite | undefined): string {
  const parts = of.quantiles
    .filter((it) => it.value !== null && it.share >= 0.5)
    .map((it) => (it.share === 0.5 ? `median ${quantile(it)}` : `${100 * it.share} % within ${quantile(it)}`));
  const left = of.unit === "objects" ? of.longer.objectsShare : of.longer.bytesShare;
  if (left > 0) parts.push(`${percent(left)} outlive all that was watched`);
  const whose = site ? `of ${functionOf(site.line)}'s ${of.unit}` : `of all ${of.unit}`;
  return `Lifetimes ${whose}: ${parts.join(", ") || "too little is known"}.`;
}

type Class = { name: string; least: number; objects: number; bytes: number };

function Classes(props: { of: Lifetimes }) {
  const { classes, longer } = props.of;
  const rows: Class[] = classes.map((it) => ({
    name: it.least < 1 ? `< ${lifetime(it.most + 1)}` : range(lifetime(it.least), lifetime(it.most + 1)),
    least: it.least,
    objects: it.objectsShare,
    bytes: it.bytesShare,
  }));
  if (longer.objectsShare > 0 || longer.bytesShare > 0) {
    rows.push({ name: "longer than was watched", least: Infinity, objects: longer.objectsShare, bytes: longer.bytesShare });
  }
  const share = (id: "objects" | "bytes"): Column<Class> => ({
    id,
    title: id,
    numeric: true,
    key: (row) => row[id],
    text: (row) => percent(row[id]),
    cell: (row) => (
      <span class="share">
        <Percent of={row[id]} /> <Bar share={row[id]} kind={id === "bytes" ? "second" : undefined} />
      </span>
    ),
  });
  const name: Column<Class> = { id: "lifetime", title: "lifetime", head: true, key: (row) => row.least, text: (row) => row.name, cell: (row) => row.name };
  return <Table fit caption="Shares by lifetime" columns={[name, share("objects"), share("bytes")]} rows={rows} rowKey={(row) => row.name} />;
}

type Cell = { lifetime: string; size: string; column: number; row: number; value: number; share: number };

function Cells(props: { density: Density; of: "bytes" | "objects"; onChoose(terms: string): void }) {
  const { density, of } = props;
  const rows = useMemo(() => cellsOf(density, of), [density, of]);
  const columns: Column<Cell>[] = [
    { id: "share", title: "share", numeric: true, key: (row) => row.share, text: (row) => percent(row.share), cell: (row) => <Percent of={row.share} /> },
    { id: "value", title: of, numeric: true, key: (row) => row.value, text: (row) => plain(row.value, of), cell: (row) => <span class="number">{plain(row.value, of)}</span> },
    { id: "lifetime", title: "lifetime", head: true, key: (row) => row.column, text: (row) => row.lifetime, cell: (row) => row.lifetime },
    { id: "size", title: "size", key: (row) => row.row, text: (row) => row.size, cell: (row) => row.size },
  ];
  return <Table fit caption="Lifetime by size" columns={columns} rows={rows} rowKey={(row) => `${row.column}.${row.row}`} sort="-share" />;
}

function cellsOf(density: Density, of: "bytes" | "objects"): Cell[] {
  const values = density[of];
  const all = margins(density, values).all || 1;
  const columns = density.lifetimes.length;
  const cells: Cell[] = [];
  values.forEach((value, at) => {
    if (value <= 0) return;
    const [row, column] = [Math.floor(at / columns), at % columns];
    const size = sizeRange(density.sizes[row], mostOf(density, row));
    const name = column === columns - 1 ? "not freed" : classOf(density, column);
    cells.push({ lifetime: name, size, column, row, value, share: value / all });
  });
  return cells;
}

function classOf(density: Density, column: number): string {
  const end = endOf(density.lifetimes, column, density.lifetimes.length - 1);
  const begin = density.lifetimes[column];
  return begin < 1 ? `< ${lifetime(end)}` : range(lifetime(begin), lifetime(end));
}

export const view: View = { id: "lifetimes", title: "Lifetimes", key: "8", isFor: () => true, component: LifetimesView };
