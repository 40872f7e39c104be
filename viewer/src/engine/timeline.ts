// Live bytes over time, and whose they were (crates/analysis/src/timeline.rs).

import type { Timeline } from "./api";
import { measuredOf } from "./estimate";
import { type Holdings, sumMetric } from "./holdings";
import type { Lives } from "./replay";
import { LEFT_OUT } from "./shape";
import { type Sites, siteLine } from "./sites";
import { type Rows, Series } from "./timeline/series";
import { estimateAt, type Parts, totals } from "./timeline/totals";

/** A callsite is told if it ever had this part of the most that was live. */
const LEAST_SHARE = 0.005;
/** So many numbers are kept for callsites and parts of the time; of more callsites, those that allocated most. */
const MOST_CELLS = 4_000_000;

export function timeline(
  lives: Lives,
  holdings: Holdings,
  sites: Sites,
  duration: number,
  count: number,
  top: number,
  begin = 0,
  end = duration,
): Timeline {
  const parts: Parts = { count: Math.max(1, Math.floor(count)), begin, end: Math.max(end, begin + 1), isToEnd: end >= duration };
  const found = totals(lives, parts);
  const most = found.atEnd.value.reduce((greatest, value) => Math.max(greatest, value), 1);
  const rows = rowsOf(holdings, sites, parts.count, LEAST_SHARE * most);
  const series = new Series(lives, parts, rows);
  const greatest = series.greatest();
  const callsites = rows.sites
    .map((site, row) => ({ site, row, greatest: greatest[row]! / most }))
    .filter((it) => it.greatest >= LEAST_SHARE)
    .sort((a, b) => b.greatest - a.greatest || a.site - b.site);
  const length = parts.end - parts.begin;
  const edge = (part: number) => parts.begin + Math.floor((length * part) / parts.count);
  return {
    begin: parts.begin,
    end: parts.end,
    parts: Array.from({ length: parts.count }, (_, part) => ({
      begin: edge(part),
      end: edge(part + 1),
      most: measuredOf(estimateAt(found.most, part)),
      atEnd: measuredOf(estimateAt(found.atEnd, part)),
    })),
    callsitesTotal: callsites.length,
    callsites: callsites.slice(0, top).map(({ site, row }) => ({
      callsite: site,
      line: siteLine(sites, site),
      ...series.of(row),
    })),
  };
}

/** Those that may have had as much: none ever had more than it allocated. */
function rowsOf(holdings: Holdings, sites: Sites, parts: number, least: number): Rows {
  const bytes = sumMetric([{ holdings, target: sites.ofBacktrace }], sites.count, "allocated").value;
  const enough = least * (1 - 1e-9);
  const found = Array.from(bytes, (_, site) => site).filter((site) => bytes[site]! > 0 && bytes[site]! >= enough);
  found.sort((a, b) => bytes[b]! - bytes[a]!);
  found.length = Math.min(found.length, Math.max(1, Math.floor(MOST_CELLS / (parts + 1))));
  const rowOf = new Uint32Array(sites.count).fill(LEFT_OUT);
  found.forEach((site, row) => (rowOf[site] = row));
  const ofNode = sites.ofBacktrace.map((site) => (site === LEFT_OUT ? LEFT_OUT : rowOf[site]!));
  return { sites: found, ofNode };
}

/** Live bytes of a callsite at equal steps from the start to the end. */
export function growth(lives: Lives, sites: Sites, site: number, duration: number, steps: number): Float64Array {
  const { columns, chosen, born } = lives;
  const { node, kind, kinds, death } = columns;
  const { ofBacktrace } = sites;
  const live = new Float64Array(steps);
  const [last, span] = [steps - 1, Math.max(1, duration)];
  for (let sample = 0; sample < chosen.length; sample++) {
    if (chosen[sample] === 0 || ofBacktrace[node[sample]!] !== site) continue;
    const bytes = kinds.ofBytes.value[kind[sample]!]!;
    const from = Math.ceil((born[sample]! * last) / span);
    const until = Math.ceil((death[sample]! * last) / span);
    if (from < steps) live[from]! += bytes;
    if (until < steps) live[until]! -= bytes;
  }
  for (let step = 1; step < steps; step++) live[step]! += live[step - 1]!;
  return live.map((bytes) => Math.max(0, bytes));
}
