// A made-up trace that answers at once, for looking at views and testing them without an engine. Its numbers hang
// together roughly, no more: what is right is tested with the engine.

import type { Answer, Callsite, Difference, Engine, Line, Measured, Quantity, Question, Trace, Tree } from "../../src/engine/api";

const MIB = 2 ** 20;

/** A generator of numbers in [0, 1) that are the same each time. */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

export const measured = (value: number, samples = 200): Measured => {
  const half = (1.96 * value) / Math.sqrt(Math.max(1, samples));
  return { value, low: samples < 4 ? 0 : Math.max(0, value - half), high: value + half };
};

export const quantity = (bytes: number, samples = 200): Quantity => ({
  samples,
  bytes: measured(bytes, samples),
  objects: measured(bytes / 96, samples),
});

const NAMES = [
  "main", "server_loop", "handle_request", "parse_json", "json_object", "json_array", "intern_string", "cache_insert",
  "hash_resize", "render_page", "template_expand", "string_append", "log_context", "session_open", "db_query",
  "row_decode", "std::vector<std::basic_string<char>>::emplace_back<std::string_view const&>", "tls_handshake",
  "buffer_grow", "<script>alert('x')</script>",
  "free\u202ecod\n\u001b[31m", `operator${"<std::vector>".repeat(5000)}`, "مرحبا_بالعالم",
];
const MODULES = ["/usr/bin/server", "/usr/lib/libjson.so.5", "/usr/lib/libssl.so.3", "/usr/lib/libc.so.6"];

export const lines: Line[] = NAMES.map((name, id) => ({
  id,
  function: name,
  file: id % 5 === 4 ? null : `/src/${name.slice(0, 6).replace(/\W/g, "")}.c`,
  line: id % 5 === 4 ? null : 10 + 7 * id,
  module: MODULES[id % MODULES.length],
  inlined: id % 7 === 6,
  machinery: id % 11 === 10,
}));

/** A tree of so many nodes, sizes as in life: few large, many small. */
export function fakeTree(nodes: number, seed = 7): Tree {
  const random = seeded(seed);
  const parent = new Uint32Array(nodes);
  const line = new Uint32Array(nodes);
  const depth = new Uint16Array(nodes);
  const own = new Float64Array(nodes);
  for (let node = 1; node < nodes; node += 1) {
    const back = Math.floor(random() ** 1.6 * Math.min(node, 1 + nodes / 40));
    parent[node] = node < 6 ? node - 1 : Math.max(0, node - 1 - back);
    depth[node] = depth[parent[node]] + 1;
    line[node] = node < 6 ? node - 1 : Math.floor(random() * lines.length);
    own[node] = random() ** 6 * 40 * MIB;
  }
  return summedTree(parent, line, depth, own);
}

function summedTree(parent: Uint32Array, line: Uint32Array, depth: Uint16Array, own: Float64Array): Tree {
  const total = Float64Array.from(own);
  const variance = new Float64Array(own.length);
  const samples = Uint32Array.from(own, () => 0);
  for (let node = own.length - 1; node > 0; node -= 1) total[parent[node]] += total[node];
  for (let node = 0; node < own.length; node += 1) {
    variance[node] = total[node] * MIB * 0.5;
    samples[node] = Math.round(total[node] / MIB);
  }
  const children: number[][] = Array.from(own, () => []);
  for (let node = 1; node < own.length; node += 1) children[parent[node]].push(node);
  children.forEach((some) => some.sort((a, b) => total[b] - total[a]));
  return {
    parent, line, depth, total, own, variance, samples, lines,
    interval: (node) => measured(total[node], Math.round(total[node] / MIB)),
    children: (node) => children[node],
    meanLifetime: (node) => (node % 9 === 8 ? null : 10 ** (1 + ((node * 37) % 70) / 10)),
  };
}

const total = 812 * MIB;

function callsites(count: number): Callsite[] {
  let left = total;
  return Array.from({ length: count }, (_, id) => {
    const bytes = left * 0.18;
    left -= bytes;
    const samples = Math.round(bytes / MIB);
    return {
      id,
      line: id === 11 ? null : lines[(id * 3 + 1) % lines.length],
      share: bytes / total,
      value: measured(bytes, samples),
      hottest: id,
      hottestShare: 0.6,
      allocated: quantity(bytes, samples),
      peak: quantity(bytes * 0.5, Math.round(samples / 2)),
      live: quantity(bytes * 0.2, Math.round(samples / 5)),
      byteSeconds: measured(bytes * 3, samples),
      backtraces: 1 + (id % 6),
    };
  });
}

export function fakeAnswer(question: Question, nodes = 3000): Answer {
  const tree = fakeTree(nodes);
  const upsideDown = fakeTree(nodes, 11);
  const sites = callsites(question.filter === "nothing" ? 0 : 320);
  return {
    question,
    canonical: question.filter || null,
    samples: 4321,
    totals: {
      allocated: quantity(total, 4321), promoted: quantity(0, 0), peak: quantity(total / 2, 2000),
      peakTime: 31e6, live: quantity(total / 5, 800),
    },
    callsites: () => sites,
    tree: (inverted) => (inverted ? upsideDown : tree),
    paths: () =>
      sites.slice(0, 30).map((site, at) => ({
        share: site.share * 1.2, freshShare: site.share, total: site.allocated.bytes, fresh: site.allocated.bytes,
        lines: lines.slice(at % 7, (at % 7) + 3 + (at % 8)),
      })),
    functions: () =>
      lines.map((line, at) => ({
        function: line.function, file: line.file, line: line.line, total: measured(total / (at + 1), 400 / (at + 1)),
        totalShare: 1 / (at + 1), own: measured(total / (at + 4), 90 / (at + 1)), ownShare: 1 / (at + 4),
      })),
    classes: () =>
      ["String", "Hash", "Array", "ActiveRecord::Base", null].map((name, at) => ({
        name, value: measured(total / 3 ** at, 300 / 3 ** at), share: 1 / 3 ** (at + 0.5),
        allocated: quantity(total / 3 ** at, Math.round(300 / 3 ** at)), live: quantity(total / 7 ** at, at === 3 ? 0 : 40),
        callsite: lines[at], callsiteShare: 0.7,
      })),
    threads: () =>
      [1, 2, 7].map((number) => ({
        number, kernel: 4000 + number, name: number === 1 ? "main" : number === 2 ? "worker-1" : null, share: 0.6 / number,
        allocated: quantity(total / number, 400), live: quantity(total / 8 / number, 40),
        freedByOthers: number === 7 ? null : quantity(total / 20, 30), freedForOthers: number === 7 ? null : quantity(MIB, 2),
      })),
    sizes: () =>
      Array.from({ length: 14 }, (_, at) => ({
        least: 2 ** (at + 3), most: 2 ** (at + 4) - 1, allocated: quantity(total * Math.exp(-((at - 6) ** 2) / 8), 20 * (1 + (at % 6))),
        live: quantity(total * 0.2 * Math.exp(-((at - 9) ** 2) / 6), at),
      })),
    timeline: () => ({ begin: 0, end: 1, parts: [], callsitesTotal: 0, callsites: [] }),
    lifetimes: (callsite) => fakeLifetimes(callsite ?? 0),
    temporary: () =>
      sites.slice(0, 40).map((site) => ({
        callsite: site.id, line: site.line, share: site.share, temporary: site.live, allocated: site.allocated,
        aliveOnAverage: measured(site.live.bytes.value / 9, site.live.samples), backtraces: site.backtraces, hottest: 0, hottestShare: 0.6,
        perSecond: measured(site.allocated.objects.value / 60, site.allocated.samples),
      })),
    density: () => fakeDensity(),
    liveOf: () => null,
    frames: () => lines.slice(0, 7),
    sandwich: () => ({ callers: fakeTree(300, 3), callees: fakeTree(300, 5), total: measured(total / 3) }),
    backtraces: (id, top) =>
      Array.from({ length: Math.min(top, 1 + (id % 6)) }, (_, at) => ({
        share: 0.6 / 2 ** at, total: measured(20 * MIB, 30 / 2 ** at), lines: lines.slice(at, at + 9),
      })),
    growth: (id, steps) => Float64Array.from({ length: steps }, (_, at) => MIB * (at * (1 + (id % 3)) + 6 * Math.sin(at / 3))),
  };
}

function fakeLifetimes(seed: number) {
  return {
    unit: "objects" as const,
    quantiles: [
      { share: 0.5, value: 6600, low: 4500, high: 8700 },
      { share: 0.9, value: 14_000, low: 11_000, high: 15_000 },
      { share: 0.99, value: 25_000, low: 15_000, high: null },
    ],
    classes: Array.from({ length: 13 }, (_, at) => ({
      least: at === 0 ? 0 : 10 ** (at / 2), most: 10 ** ((at + 1) / 2),
      objectsShare: 0.2 * Math.exp(-((at - 6 - seed) ** 2) / 6), bytesShare: 0.2 * Math.exp(-((at - 8) ** 2) / 6),
    })),
    longer: { objectsShare: 0.17, bytesShare: 0.22 },
    watched: 60e6,
    survival: Array.from({ length: 60 }, (_, at) => {
      const share = 0.17 + 0.83 * Math.exp(-at / 14);
      return { time: 10 ** (at / 9), share, low: Math.max(0, share - 0.02 - at / 900), high: Math.min(1, share + 0.02 + at / 900) };
    }),
  };
}

function fakeDensity() {
  const lifetimes = Array.from({ length: 27 }, (_, at) => (at === 0 ? 0 : 2 ** at));
  const sizes = Array.from({ length: 16 }, (_, at) => 2 ** (at + 3) + 1);
  const bytes = new Float64Array(lifetimes.length * sizes.length);
  for (let row = 0; row < sizes.length; row += 1)
    for (let column = 0; column < lifetimes.length; column += 1) {
      const near = Math.exp(-((column - 9) ** 2) / 20 - (row - 5) ** 2 / 9) + 0.4 * Math.exp(-((column - 20) ** 2) / 8 - (row - 11) ** 2 / 5);
      if (near > 0.01) bytes[row * lifetimes.length + column] = near * 40 * MIB;
    }
  const last = lifetimes.length - 1;
  for (let row = 0; row < sizes.length; row += 2) bytes[row * lifetimes.length + last] = (row + 1) * MIB;
  return { lifetimes, sizes, bytes, objects: bytes.map((value, at) => value / sizes[Math.floor(at / lifetimes.length)]) };
}

export function fakeTrace(nodes = 3000): Trace {
  return {
    facts: {
      file: "server.lt", program: "server", pid: 42, command: "server --port 80", end: 60e6, duration: 60e6, start_unix_us: 1.7e15,
      clock: [], peak: 31e6, exact: false, hears_all: true, word_bytes: 8, interval_bytes: 65_536, interval_objects: 0, thinned: null,
      sources: [{ name: "malloc", source: "native", ocaml: false, ruby: true, unit: "byte", rate: 1 / 65_536 }],
      threads: [{ number: 1, name: "main", kernel: 42 }], labels: {}, young_heap_bytes: null, in_import: null,
    } as unknown as Trace["facts"],
    documents: {},
    heap: fakeHeap(),
    sampleCount: 4321,
    memory: { time: new Float64Array(), resident: new Float64Array(), heap: new Float64Array(), live: new Float64Array() },
    cycles: { begin: new Float64Array(), end: new Float64Array(), generation: new Uint8Array() },
    ask: (question) =>
      question.filter.includes("siez")
        ? { message: "unknown term `siez`; did you mean `size`?", start: 0, end: 4 }
        : fakeAnswer(question, nodes),
  };
}

function fakeHeap() {
  return { file: "server.1.lth", runtime: "ruby 3.1", cause: "asked for", time_unix_ns: 1.7e18, complaints: [], retainers: fakeRetainers() };
}

function fakeRetainers() {
  const object = (name: string, retained: number, inner: object[] = [], more: object = {}) => ({
    class: name, address: `0x7f00${retained.toString(16)}`, bytes: 40, retained_bytes: retained, retained_objects: Math.ceil(retained / 100),
    share: retained / 9e6, ...(inner.length ? { retainers: inner } : {}), ...more,
  });
  return {
    bytes: 9e6,
    retainers: [
      object("Hash", 5e6, [
        object("Session", 3e6, [object("String", 2.4e6, [], { description: '"<html> the page that was shown last"' }), object("Array", 4e5)]),
        object("Session", 1.2e6, [], { others: [{ class: "String", objects: 812, retained_bytes: 1e6, share: 1e6 / 9e6 }] }),
      ], { slot: "global_tbl" }),
      object("Class", 2e6, [object("Hash", 9e5, [object("String", 5e5)])], { description: "Object" }),
    ],
    others: [{ class: "String", objects: 9000, retained_bytes: 1.5e6, share: 1.5 / 9 }],
  };
}

export function fakeDifference(nodes = 1500): Difference {
  const tree = fakeTree(nodes, 21);
  const random = seeded(5);
  const factor = Float64Array.from({ length: nodes }, () => random() * 2.2);
  const after = new Float64Array(nodes);
  for (let node = nodes - 1; node >= 0; node -= 1) {
    after[node] += tree.own[node] * factor[node];
    if (node > 0) after[tree.parent[node]] += after[node];
  }
  const before = tree.total;
  const significant = Uint8Array.from(before, (was, node) => Number(Math.abs(after[node] - was) > 0.2 * was + 8 * MIB));
  const change = (line: Line | null, before: number, after: number, pValue: number) => ({
    line, before, after, change: after - before, interval: 0.15 * (before + after), pValue, significant: pValue < 0.01,
  });
  return {
    metric: "allocated",
    totals: Object.fromEntries(
      ["allocated", "live", "peak", "objects", "byte-seconds"].map((name, at) => [name, change(null, total, total * (1 + at / 4 - 0.5), at === 2 ? 0.3 : 1e-9)]),
    ),
    changes: lines.map((line, at) => change(line, at % 4 === 1 ? 0 : MIB * (300 / (at + 1)), MIB * (200 / (at + 1)) * (at % 3), at % 3 === 2 ? 0.21 : 1e-7)),
    functions: () => lines.slice(0, 9).map((line, at) => change(line, MIB * 100, MIB * (60 + 30 * at), at % 2 ? 1e-7 : 0.4)),
    tree: {
      ...tree, before, after, significant,
      changeInterval: before.map((was, node) => 0.15 * (was + after[node])), pValue: Float64Array.from(significant, (is) => (is ? 1e-7 : 0.3)),
    },
  };
}

export const fakeEngine: Engine = {
  open: () => fakeTrace(),
  compare: () => fakeDifference(),
  together: (answers) => ({ totals: answers[0].totals, callsites: () => answers[0].callsites(), tree: (inverted: boolean) => answers[0].tree(inverted) }) as unknown as ReturnType<Engine["together"]>,
  parse: (filter) => (filter.includes("siez") ? { message: "unknown term `siez`; did you mean `size`?", start: 0, end: 4 } : { canonical: filter }),
  parseFrames: () => null,
};
