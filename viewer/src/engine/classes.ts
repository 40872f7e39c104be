// Which classes objects are of (crates/analysis/src/classes.rs): the innermost frame of their backtraces says it.

import type { ClassRow } from "./api";
import { type Accounts, partsBySite } from "./callsites";
import { measuredOf, quantity, share } from "./estimate";
import { amountAt, estimateAt, newSums, type Part, type Sums, sumAmounts, sumMetric } from "./holdings";
import type { Backtraces } from "./names";
import { LEFT_OUT } from "./shape";
import { compareText, siteLine } from "./sites";

/** By node of the backtraces: its class, 0 for none; and their names. */
export function findClasses({ nodes, frame, first, lines }: Backtraces): { of: Uint32Array; names: (string | null)[] } {
  const ids = new Map<string, number>();
  const names: (string | null)[] = [null];
  const of = new Uint32Array(nodes);
  for (let node = 1; node < nodes; node++) {
    const name = lines.className(first[frame[node]!]!);
    if (name === null) continue;
    let id = ids.get(name);
    if (id === undefined) ids.set(name, (id = names.push(name) - 1));
    of[node] = id;
  }
  return { of, names };
}

export function classes(accounts: Accounts, backtraces: Backtraces): ClassRow[] {
  const { metric, facts, sites } = accounts;
  const { of, names } = findClasses(backtraces);
  const bySite = partsBySite(accounts);
  const parts: Part[] = bySite.map(({ holdings, target }) => ({
    holdings,
    target: of.map((id, node) => (target[node] === LEFT_OUT ? LEFT_OUT : id)),
  }));
  const values = sumMetric(parts, names.length, metric);
  const allocated = sumAmounts(parts, names.length, "allocated");
  const live = sumAmounts(parts, names.length, "live");
  const most = mostOf(bySite, of, names.length, sites.count, accounts);
  const order = names.map((_, id) => id).filter((id) => values.samples[id]! > 0);
  order.sort((a, b) => values.value[b]! - values.value[a]! || compareNames(names[a]!, names[b]!));
  const total = order.reduce((sum, id) => sum + values.value[id]!, 0);
  return order.map((id) => ({
    name: names[id]!,
    value: measuredOf(estimateAt(values, id)),
    share: share(values.value[id]!, total),
    allocated: quantity(amountAt(allocated, id), facts),
    live: quantity(amountAt(live, id), facts),
    callsite: siteLine(sites, most.site[id]!),
    callsiteShare: share(most.value[id]!, values.value[id]!),
  }));
}

function compareNames(one: string | null, other: string | null): number {
  return Number(one !== null) - Number(other !== null) || compareText(one ?? "", other ?? "");
}

/** By class: the callsite that has most of it. */
function mostOf(
  bySite: Part[],
  of: Uint32Array,
  count: number,
  sites: number,
  { metric }: Accounts,
): { site: Uint32Array; value: Float64Array } {
  const pairs = new Map<number, number>();
  const target = bySite.map(({ holdings, target }) => {
    const pairOf = target.map((site, node) => {
      if (site === LEFT_OUT) return LEFT_OUT;
      const key = of[node]! * sites + site;
      const known = pairs.get(key) ?? pairs.size;
      pairs.set(key, known);
      return known;
    });
    return { holdings, target: pairOf };
  });
  const sums: Sums = pairs.size === 0 ? newSums(0) : sumMetric(target, pairs.size, metric);
  const [site, value] = [new Uint32Array(count), new Float64Array(count).fill(-1)];
  for (const [key, at] of pairs) {
    const [id, here] = [Math.floor(key / sites), key % sites];
    const isMore = sums.value[at]! > value[id]! || (sums.value[at] === value[id] && here < site[id]!);
    if (isMore) [site[id], value[id]] = [here, sums.value[at]!];
  }
  return { site, value };
}
