// Who allocates, and who frees what others allocated (crates/analysis/src/threads.rs); and how large blocks are.

import type { SizeRow, ThreadRow } from "./api";
import { quantity, share } from "./estimate";
import type { Facts } from "./facts";
import { amountAt, amountOfKinds, newSums, type Holdings, type Sums } from "./holdings";
import type { Kinds } from "./kinds";
import type { Lives } from "./replay";

/** By the bytes that they allocated. */
export function threads({ columns, chosen }: Lives, facts: Facts): ThreadRow[] {
  const { thread, kind, kinds, death, freedBy } = columns;
  if (thread.length === 0) return [];
  const pair = (): [Sums, Sums] => [newSums(facts.threads.length), newSums(facts.threads.length)];
  const [allocated, live, byOthers, forOthers] = [pair(), pair(), pair(), pair()];
  for (let sample = 0; sample < chosen.length; sample++) {
    if (chosen[sample] === 0) continue;
    addSample(allocated, thread[sample]!, kinds, kind[sample]!);
    if (death[sample] === Infinity) addSample(live, thread[sample]!, kinds, kind[sample]!);
    else if (freedBy !== null && freedBy[sample] !== thread[sample]) {
      addSample(byOthers, thread[sample]!, kinds, kind[sample]!);
      addSample(forOthers, freedBy[sample]!, kinds, kind[sample]!);
    }
  }
  const total = allocated[0].value.reduce((sum, value) => sum + value, 0);
  const isTold = (at: number) =>
    allocated[0].samples[at]! > 0 || forOthers[0].samples[at]! > 0 || facts.threads[at]!.kernel !== null;
  const order = facts.threads.map((_, at) => at).filter(isTold);
  order.sort((a, b) => allocated[0].value[b]! - allocated[0].value[a]! || facts.threads[a]!.number - facts.threads[b]!.number);
  return order.map((at) => ({
    ...facts.threads[at]!,
    share: share(allocated[0].value[at]!, total),
    allocated: quantity(amountAt(allocated, at), facts),
    live: quantity(amountAt(live, at), facts),
    freedByOthers: freedBy === null ? null : quantity(amountAt(byOthers, at), facts),
    freedForOthers: freedBy === null ? null : quantity(amountAt(forOthers, at), facts),
  }));
}

function addSample([bytes, objects]: [Sums, Sums], at: number, { ofBytes, ofObjects }: Kinds, kind: number): void {
  bytes.samples[at]!++;
  bytes.value[at]! += ofBytes.value[kind]!;
  bytes.variance[at]! += ofBytes.variance[kind]!;
  bytes.uncertain[at]! += ofBytes.uncertain[kind]!;
  objects.value[at]! += ofObjects.value[kind]!;
  objects.variance[at]! += ofObjects.variance[kind]!;
  objects.uncertain[at]! += ofObjects.uncertain[kind]!;
}

/** How large blocks are (crates/analysis/src/sizes.rs): all classes from the first that has blocks to the last. */
export function sizes({ columns, groups, allocated, live }: Holdings, facts: Facts): SizeRow[] {
  const { kinds } = columns;
  const classOf = Uint8Array.from(kinds.bytes, sizeClass);
  const [all, alive] = [new Float64Array(kinds.count), new Float64Array(kinds.count)];
  let [first, last] = [Infinity, -1];
  for (let group = 0; group < groups.count; group++) {
    if (allocated[group] === 0) continue;
    const kind = groups.kind[group]!;
    all[kind]! += allocated[group]!;
    alive[kind]! += live[group]!;
    first = Math.min(first, classOf[kind]!);
    last = Math.max(last, classOf[kind]!);
  }
  const rows: SizeRow[] = [];
  for (let number = first; number <= last; number++) {
    const only = (counts: Float64Array) => counts.map((count, kind) => (classOf[kind] === number ? count : 0));
    rows.push({
      least: leastOfClass(number),
      most: number < 2 ? number : 2 ** (number - 1),
      allocated: quantity(amountOfKinds(columns, only(all)), facts),
      live: quantity(amountOfKinds(columns, only(alive)), facts),
    });
  }
  return rows;
}

/** The least size of a class. */
export function leastOfClass(number: number): number {
  return number < 2 ? number : 2 ** (number - 2) + 1;
}

/** 0 for empty blocks, 1 for one byte, 2 for two, 3 for 3 or 4, 4 for 5 to 8... */
export function sizeClass(bytes: number): number {
  let number = 0;
  for (let most = 0; most < bytes; most = number === 1 ? 1 : most * 2) number++;
  return number;
}
