// The made-up traces of the browser's tests: one that leaks beside a cache, a second process, one of hostile names.

import { bundleOf, packed, type MadeLine, type MadeTrace } from "../support/bundle";

const SECOND = 1e6;
const MIB = 2 ** 20;

interface Block {
  birth: number;
  death?: number;
  bytes: number;
  weight: number;
  /** Outermost first; a name alone is in a file of that name. */
  stack: (string | MadeLine)[];
  thread?: string;
}

/** A trace as the text of a page's script. */
function made(program: string, blocks: Block[], more: Omit<MadeTrace, "samples">): string {
  const threads = [...new Set(blocks.map(({ thread = "main" }) => thread))];
  const samples = blocks.map(({ birth, death, bytes, weight, stack, thread = "main" }) => ({
    frames: stack.map((line) => [typeof line === "string" ? { function: line, file: `src/${line}.c`, line: 7, module: "/usr/bin/app" } : line]),
    born: birth,
    died: death,
    bytes,
    weight,
    thread: threads.indexOf(thread),
  }));
  const facts = {
    file: `${program}.lt`, program, pid: 4242, command: `${program} --fast`, end: 60 * SECOND, duration: 60 * SECOND - 1, peak: peak(blocks), interval_bytes: 65536,
    sources: [{ name: "malloc", source: "native" as const, ocaml: false, ruby: false, unit: "byte" as const, rate: 1 / 65536 }],
    threads: threads.map((name, number) => ({ number, name, kernel: 100 + number })),
    has_threads: true,
    ...more.facts,
  };
  return packed(bundleOf({ samples, ...more, facts }));
}

/** When most bytes live. */
function peak(blocks: Block[]): number | null {
  const steps = blocks.flatMap(({ birth, death, bytes, weight }) => [[birth, bytes * weight], ...(death === undefined ? [] : [[death, -bytes * weight]])]);
  let [live, most, at]: [number, number, number | null] = [0, 0, null];
  for (const [time, change] of steps.sort((a, b) => a[0] - b[0])) {
    live += change;
    if (live > most) [most, at] = [live, time];
  }
  return at;
}

/** `createClient` leaks, `cache` holds level, `parse` is gone at once. */
function blocksOf(scale: number): Block[] {
  const blocks: Block[] = [];
  for (let at = 0; at < 600; at++) {
    const birth = at * 0.1 * SECOND;
    if (at % 3 === 0) blocks.push({ birth, bytes: 4096 * scale, weight: 16, stack: ["main", "serve", "createClient"] });
    if (at % 2 === 0) blocks.push({ birth: birth + 10, death: Math.min(birth + 4 * SECOND, 60 * SECOND - 1), bytes: 2048, weight: 32, stack: ["main", "serve", "cache"], thread: "worker" });
    blocks.push({ birth: birth + 20, death: birth + 2000, bytes: 65536, weight: 1.6, stack: ["main", "parse"] });
  }
  return blocks;
}

const quantity = (bytes: number, samples: number) => ({
  samples, bytes, bytes_interval95: bytes / 10, bytes_low95: bytes * 0.9, bytes_high95: bytes * 1.1,
  objects: samples * 16, objects_interval95: samples, objects_low95: samples * 15, objects_high95: samples * 17,
});
const rate = (bytes: number) => ({ bytes_per_hour: bytes, bytes_per_hour_low95: bytes * 0.8, bytes_per_hour_high95: bytes * 1.2 });
const backtrace = (...names: string[]) => ({ share: 0.9, frames: names.map((name) => ({ function: name, file: `src/${name}.c`, line: 7, inlined: false })) });

function documentsOf(pid: number, parent: number | null, name = "createClient") {
  const totals = { allocated: quantity(200 * MIB, 1100), promoted: quantity(0, 0), peak: { ...quantity(20 * MIB, 300), time_us: 59.8 * SECOND }, live_at_end: quantity(14 * MIB, 220) };
  const trace = { pid, start_time_us: 1786965711174340 + pid, duration_us: 60 * SECOND, host: "machine", samples: 1100, promotions: 0, collections: 900, sample_interval_bytes: 65536, facts: { parent_pid: parent, exit: { how: "status", code: 0 }, runtime: "native" } };
  const leak = {
    function: name, file: "src/client.c", line: 42, kind: "leak", shape: "line", live_at_end: quantity(12 * MIB, 200), allocated: quantity(12 * MIB, 200),
    growth: rate(720 * MIB), limit_reached: { hours: 5.7, hours_low95: 4.6, hours_high95: 7.1 },
    evidence: { from_start: 0.1, largest_step: 0.08, largest_three_steps: 0.2, largest_fall: 0, persistence: 1 },
    oldest_us: 59 * SECOND, never_freed: { share: 1, share_low95: 0.98, share_high95: 1 }, freed: null,
    live_over_time_bytes: Array.from({ length: 60 }, (_, at) => at * 200_000), backtraces: 2, hottest_backtrace: backtrace(name, "serve", "main"),
  };
  const cache = { ...leak, function: "cache", file: "src/cache.c", line: 7, kind: "plateau", shape: "plateau", live_at_end: quantity(2 * MIB, 20), growth: rate(0), limit_reached: null, live_over_time_bytes: Array.from({ length: 60 }, (_, at) => Math.min(at, 4) * 500_000) };
  const lost = {
    bytes_read: 5 * MIB, stopped_us: 9000, lost: quantity(3 * MIB, 50), share: 0.2, share_low95: 0.17, share_high95: 0.24, callsites_total: 2,
    callsites: [
      { function: name, file: "src/client.c", line: 42, lost: quantity(3 * MIB, 50), lost_with_others: quantity(0, 0), share: 0.25, share_low95: 0.2, share_high95: 0.3, held_by: [{ holder: "variable", name: "registry", callsite: null, held: quantity(9 * MIB, 150) }], backtraces: 1, hottest_backtrace: backtrace(name, "main") },
      { function: "cache", file: "src/cache.c", line: 7, lost: quantity(0, 0), lost_with_others: quantity(0, 0), share: 0, share_low95: 0, share_high95: 0.1, held_by: [{ holder: "thread", name: "worker", callsite: null, held: quantity(2 * MIB, 20) }] },
    ],
  };
  const resident = { bytes: 40 * MIB, time_us: 60 * SECOND, live_bytes: 14 * MIB, live_share: 0.35, growth_beside: null };
  const leaks = { view: "leaks", totals, trace, verdict: "leaks", leaking_callsites: 1, growth_together: rate(720 * MIB), limit_bytes: 4096 * MIB, limit_reached: { hours: 5.7, hours_low95: 4.6, hours_high95: 7.1 }, resident, lost, callsites_total: 2, callsites: [leak, cache] };
  const gc = {
    collections: [{ generation: "minor", count: 40, first_number: 0, last_number: 39, gaps: { median_us: 1500000, longest_us: 3000000, total_us: 60000000 }, durations: { median_us: 800, longest_us: 4000, total_us: 36000 }, over_time: Array.from({ length: 72 }, (_, at) => at % 3) }],
    young_heap_fills: null, counters: { resident_bytes: { first: 10 * MIB, highest: 40 * MIB, last: 40 * MIB } },
    allocated: quantity(0, 0), allocated_old: quantity(0, 0), promoted: quantity(0, 0), collected: quantity(0, 0), live_young: quantity(0, 0), live_old: quantity(0, 0),
    survived_minor_mean: null, survived_major_mean: null, survived_minor_most: null, survived_major_most: null, callsites_total: 0, callsites: [],
  };
  return { summary: { view: "summary", totals, trace, resident, lost, callsites: [], callsites_total: 0 }, leaks, gc };
}

const seconds = Array.from({ length: 61 }, (_, at) => at * SECOND);
const unknown = seconds.map(() => NaN);
const memory = { time: seconds, resident: seconds.map((_, at) => (26 + at / 4) * MIB), heap: unknown, live: unknown };
const begins = Array.from({ length: 40 }, (_, at) => at * 1.5 * SECOND);
const cycles = { begin: begins, end: begins.map((begin) => begin + 800), generation: begins.map((_, at) => (at % 8 ? 0 : 1)) };

export const app = made("app", blocksOf(1), { documents: documentsOf(4242, null), memory, cycles });
export const child = made("child", blocksOf(2), { documents: documentsOf(4243, 4242), memory, facts: { pid: 4243 } });
export const damaged = made("app", blocksOf(1), {
  documents: documentsOf(4242, null),
  facts: { thinned: { kept: 1100, of: 9000 }, damage: ["from byte 1,234 on, nothing can be read: it ends within a packet"], notices: ["the program has very deep stacks: 7 backtraces lack their outermost frames"] },
});

export const HOSTILE = [
  "<script>window.hacked = 1</script>",
  "</script><img src=x onerror=\"window.hacked = 2\">",
  "\"><svg onload='window.hacked = 3'>&amp;<!--lifetrace:page-->",
  "javascript:window.hacked=4",
  "\u202eright to left\u202c \u2066isolated\u2069",
  "a\nb\tc\r\u0000\u001b[31md",
  `${"std::map<".repeat(6000)}int${">".repeat(6000)}`,
  "`${window.hacked = 5}` {{7*7}} $& $1 %s",
  "__proto__", "constructor", "fn=\"x\"; not leaks",
];

const hostileBlocks = HOSTILE.flatMap((name, at) =>
  Array.from({ length: 20 }, (_, round): Block => ({
    birth: (at * 20 + round) * 1000,
    bytes: 4096,
    weight: 16,
    thread: name,
    stack: [{ function: name, file: name, line: 1, module: name }, { function: `${name}!`, file: name, line: 2, module: name }],
  })),
);
export const hostile = made(HOSTILE[0], hostileBlocks, {
  documents: documentsOf(4242, null, HOSTILE[1]),
  memory,
  facts: { command: HOSTILE.slice(0, 6).join(" "), file: HOSTILE[1], labels: { [HOSTILE[0]]: HOSTILE[4] }, notices: [`the recorder noticed: ${HOSTILE[1]}`], damage: [HOSTILE[0]] },
});
