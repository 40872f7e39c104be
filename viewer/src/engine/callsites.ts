// Who allocated how much: amounts by callsite (crates/analysis/src/callsites.rs), and the backtraces of one.

import type { Callsite, Line, Measured, Metric } from "./api";
import { measured, measuredOf, quantity, share } from "./estimate";
import type { Facts } from "./facts";
import { addedUp, amountAt, estimateAt, type Part, type Sums, sumAmounts, sumMetric } from "./holdings";
import { lineOf, type Shaped } from "./shape";
import { type Sites, siteLine } from "./sites";

/** What views by backtraces are made of: of one trace, or of several added up. */
export interface Accounts {
  facts: Facts;
  sites: Sites;
  /** Holdings, with the node of the shaped tree of each backtrace. */
  parts: Part[];
  metric: Metric;
}

/** By callsite. */
export function partsBySite({ sites, parts }: Accounts): Part[] {
  return parts.map(({ holdings, target }) => ({
    holdings,
    target: target.map((node) => (node === 0xffff_ffff ? node : sites.of[node]!)),
  }));
}

const knownValues = new WeakMap<Accounts, Readonly<Sums>>();
const knownThrough = new WeakMap<Accounts, Readonly<Sums>>();

/** What each backtrace, as it looks, has of the metric: by node of the shaped tree. Found once: not to be changed. */
export function valuesByNode(accounts: Accounts): Readonly<Sums> {
  const { sites, parts, metric } = accounts;
  return remembered(knownValues, accounts, () => sumMetric(parts, sites.shaped.tree.size, metric));
}

/** What came through each node of the shaped tree. Found once: not to be changed. */
export function throughNodes(accounts: Accounts): Readonly<Sums> {
  const { tree } = accounts.sites.shaped;
  return remembered(knownThrough, accounts, () => addedUp(valuesByNode(accounts), tree.parent));
}

function remembered<K extends object, V>(known: WeakMap<K, V>, key: K, find: () => V): V {
  let found = known.get(key);
  if (found === undefined) known.set(key, (found = find()));
  return found;
}

/** The greatest first; those that have nothing of the metric are left out. */
export function callsites(accounts: Accounts): Callsite[] {
  const { sites, facts, metric } = accounts;
  const parts = partsBySite(accounts);
  const values = sumMetric(parts, sites.count, metric);
  const [allocated, live, peak] = (["allocated", "live", "peak"] as const).map((it) =>
    sumAmounts(parts, sites.count, it),
  );
  const byteSeconds = metric === "byte-seconds" ? values : sumMetric(parts, sites.count, "byte-seconds");
  const total = sum(values.value);
  const hottest = hottestOf(accounts);
  return inOrder(sites, values).map((site) => ({
    id: site,
    line: siteLine(sites, site),
    share: share(values.value[site]!, total),
    value: measuredOf(estimateAt(values, site)),
    allocated: quantity(amountAt(allocated!, site), facts),
    peak: quantity(amountAt(peak!, site), facts),
    live: quantity(amountAt(live!, site), facts),
    byteSeconds: measuredOf(estimateAt(byteSeconds, site)),
    backtraces: hottest.backtraces[site]!,
    hottestShare: share(hottest.most[site]!, values.value[site]!),
    hottest: hottest.node[site]!,
  }));
}

export function sum(values: Float64Array): number {
  let total = 0;
  for (let at = 0; at < values.length; at++) total += values[at]!;
  return total;
}

/** Callsites that have samples of something, those that have most of it first. */
export function inOrder(sites: Sites, values: Sums): number[] {
  const found: number[] = [];
  for (let site = 0; site < sites.count; site++) if (values.samples[site]! > 0) found.push(site);
  return found.sort((a, b) => values.value[b]! - values.value[a]! || sites.rank[a]! - sites.rank[b]!);
}

interface Hottest {
  /** By callsite: how many backtraces have something, which has most, and what that is. */
  backtraces: Uint32Array;
  node: Uint32Array;
  most: Float64Array;
}

function hottestOf(accounts: Accounts): Hottest {
  const { sites } = accounts;
  const values = valuesByNode(accounts);
  const [backtraces, node] = [new Uint32Array(sites.count), new Uint32Array(sites.count)];
  const most = new Float64Array(sites.count).fill(-1);
  for (let at = 0; at < values.value.length; at++) {
    if (values.samples[at] === 0) continue;
    const site = sites.of[at]!;
    backtraces[site]!++;
    if (values.value[at]! > most[site]!) [most[site], node[site]] = [values.value[at]!, at];
  }
  return { backtraces, node, most };
}

/** The lines of a backtrace, innermost first. */
export function framesOf(shaped: Shaped, node: number): Line[] {
  const lines: Line[] = [];
  for (let at = node; at !== 0; at = shaped.tree.parent[at]!) lines.push(lineOf(shaped, shaped.tree.label[at]!));
  return lines;
}

/** The backtraces of a callsite, those that have most of the metric first. */
export function backtracesOf(
  accounts: Accounts,
  site: number,
  top: number,
): { share: number; total: Measured; lines: Line[] }[] {
  const { sites } = accounts;
  const values = valuesByNode(accounts);
  const nodes: number[] = [];
  let total = 0;
  for (let node = 0; node < values.value.length; node++) {
    if (values.samples[node] === 0 || sites.of[node] !== site) continue;
    nodes.push(node);
    total += values.value[node]!;
  }
  nodes.sort((a, b) => values.value[b]! - values.value[a]! || a - b);
  return nodes.slice(0, top).map((node) => ({
    share: share(values.value[node]!, total),
    total: measuredOf(estimateAt(values, node)),
    lines: framesOf(sites.shaped, node),
  }));
}

type Place = Pick<Line, "function" | "file" | "line">;

/** What callsites hold at the end, together; null where a place is not one callsite. */
export function liveOf(accounts: Accounts, places: Place[]): Measured | null {
  const { sites } = accounts;
  const sums = sumMetric(partsBySite(accounts), sites.count, "live");
  const key = (place: Place | null) => `${place?.function ?? ""}\0${place?.file ?? ""}\0${place?.line ?? ""}`;
  const byPlace = new Map<string, number[]>();
  for (let site = 0; site < sites.count; site++) {
    if (sums.samples[site] === 0) continue;
    const at = key(siteLine(sites, site));
    byPlace.set(at, [...(byPlace.get(at) ?? []), site]);
  }
  const found = places.map((place) => byPlace.get(key(place)) ?? []);
  if (found.some((of) => of.length !== 1)) return null;
  const total = (of: Float64Array) => found.reduce((all, [site]) => all + of[site!]!, 0);
  return measured(total(sums.value), total(sums.variance), total(sums.uncertain));
}
