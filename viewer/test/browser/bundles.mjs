// Writes a bundle as docs/format-page.md has it, from a few made-up blocks.

import { deflateSync } from "node:zlib";

/** A made-up trace. Blocks are in the order of their births; `stack` is outermost first. */
export function bundle({ program = "app", blocks, end, documents = {}, heap = null, memory = [], cycles = [], facts = {} }) {
  const names = strings();
  const stacks = tree(names);
  const kinds = rows();
  const nodes = blocks.map(({ stack }) => stacks.node(stack));
  const sizes = blocks.map(({ bytes, weight = 1 }) => kinds.of(`${bytes} ${weight}`, [bytes, weight]));
  const { changes, what, gaps } = deaths(blocks);
  const threads = [...new Set(blocks.map(({ thread = "main" }) => thread))];
  const sections = {
    "sample.gap": u32(differences(blocks.map(({ birth }) => birth))),
    "sample.node": u32(nodes),
    "sample.kind": u32(sizes),
    "sample.thread": u32(blocks.map(({ thread = "main" }) => threads.indexOf(thread))),
    "sample.changes": u32(changes),
    "change.what": u32(what),
    "change.gap": u32(gaps),
    "change.thread": u32(what.map(() => 0)),
    "kind.bytes": f64(kinds.all.map(([bytes]) => bytes)),
    "kind.weight": f64(kinds.all.map(([, weight]) => weight)),
    "kind.source": u32(kinds.all.map(() => 0)),
    "kind.flags": u8(kinds.all.map(() => 0)),
    ...stacks.sections(),
    ...over(memory, cycles),
    ...names.sections(),
  };
  const header = { facts: { ...told(program, blocks, end, threads), ...facts }, documents, heap };
  return deflateSync(packed(header, sections)).toString("base64");
}

function told(program, blocks, end, threads) {
  return {
    file: `${program}.lt`, program, pid: 4242, command: `${program} --fast`, end, duration: end - 1,
    start_unix_us: 1786965711174340, clock: [], peak: peak(blocks), exact: false, hears_all: true, word_bytes: 8,
    interval_bytes: 65536, interval_objects: 0, samples_in_trace: blocks.length, thinned: null,
    sources: [{ name: "malloc", source: "native", ocaml: false, ruby: false, unit: "byte", rate: 1 / 65536 }],
    threads: threads.map((name, number) => ({ number, name, kernel: 100 + number })),
    labels: {}, young_heap_bytes: null, notices: [], damage: [], in_import: null, has_threads: true,
  };
}

/** When most bytes live. */
function peak(blocks) {
  const steps = blocks.flatMap(({ birth, death, bytes, weight = 1 }) => [[birth, bytes * weight], ...(death === undefined ? [] : [[death, -bytes * weight]])]);
  let [live, most, at] = [0, 0, null];
  for (const [time, change] of steps.sort((a, b) => a[0] - b[0])) {
    live += change;
    if (live > most) [most, at] = [live, time];
  }
  return at;
}

/** Deaths in order of time, and how many come before each birth. */
function deaths(blocks) {
  const all = blocks.flatMap(({ death }, number) => (death === undefined ? [] : [{ death, number }])).sort((a, b) => a.death - b.death);
  let at = 0;
  const changes = blocks.map(({ birth }) => {
    const from = at;
    while (at < all.length && all[at].death <= birth) at++;
    return at - from;
  });
  return { changes, what: all.map(({ number }) => 2 * number), gaps: differences(all.map(({ death }) => death)) };
}

const differences = (times) => times.map((time, at) => time - (times[at - 1] ?? 0));

function rows() {
  const [all, numbers] = [[], new Map()];
  const of = (key, row) => {
    if (!numbers.has(key)) numbers.set(key, all.push(row) - 1);
    return numbers.get(key);
  };
  return { all, of };
}

function strings() {
  const { all, of } = rows();
  of("", "");
  const sections = () => {
    const parts = all.map((text) => Buffer.from(text));
    let end = 0;
    return { "string.end": u32(parts.map((part) => (end += part.length))), "string.bytes": u8([...Buffer.concat(parts)]) };
  };
  return { of: (text) => of(text ?? "", text ?? ""), sections };
}

/** A frame is `function`, or `{ function, file, line, module }`; each has one line. */
function tree(names) {
  const [frames, nodes] = [rows(), rows()];
  const node = (stack) =>
    stack.reduce((parent, frame) => {
      const line = typeof frame === "string" ? { function: frame, file: `src/${frame.slice(0, 20)}.c`, line: 7, module: "/usr/bin/app" } : frame;
      const number = frames.of(JSON.stringify(line), line);
      return nodes.of(`${parent} ${number}`, [parent, number]) + 1;
    }, 0);
  const column = (pick) => u32(frames.all.map(pick));
  const sections = () => ({
    "node.parent": u32(nodes.all.map(([parent]) => parent)),
    "node.frame": u32(nodes.all.map(([, frame]) => frame)),
    "frame.first": u32([...frames.all.keys(), frames.all.length]),
    "line.function": column((line) => names.of(line.function)),
    "line.file": column((line) => names.of(line.file)),
    "line.line": column((line) => line.line ?? 0),
    "line.first_column": column(() => 0),
    "line.last_column": column(() => 0),
    "line.module": column((line) => names.of(line.module)),
    "line.plain": column(() => 0),
    "line.flags": u8(frames.all.map((line) => line.flags ?? 0)),
    "line.code": u32([]),
  });
  return { node, sections };
}

function over(memory, cycles) {
  return {
    "memory.time": f64(memory.map(([time]) => time)),
    "memory.resident": f64(memory.map(([, resident]) => resident)),
    "memory.heap": f64(memory.map(() => NaN)),
    "memory.live": f64(memory.map(() => NaN)),
    "cycle.begin": f64(cycles.map(([begin]) => begin)),
    "cycle.end": f64(cycles.map(([, end]) => end)),
    "cycle.generation": u8(cycles.map(([, , generation]) => generation)),
  };
}

const section = (type, array, numbers) => ({ type, length: numbers.length, bytes: Buffer.from(array.from(numbers).buffer) });
const u8 = (numbers) => section("u8", Uint8Array, numbers);
const u32 = (numbers) => section("u32", Uint32Array, numbers);
const f64 = (numbers) => section("f64", Float64Array, numbers);

/** The header has the places of sections, which its own length moves: room is left for their digits. */
function packed(header, sections) {
  const lengthOf = (places) => Buffer.from(JSON.stringify({ ...header, sections: places }));
  const aligned = (at) => Math.ceil(at / 8) * 8;
  const layout = (start) => {
    let at = start;
    return Object.fromEntries(
      Object.entries(sections).map(([name, { type, length, bytes }]) => {
        const offset = aligned(at);
        at = offset + bytes.length;
        return [name, { type, offset, length }];
      }),
    );
  };
  const roomy = aligned(4 + lengthOf(layout(1e9)).length);
  const places = layout(roomy);
  const text = lengthOf(places);
  const last = Object.entries(sections).reduce((most, [name, { bytes }]) => Math.max(most, places[name].offset + bytes.length), roomy);
  const all = Buffer.alloc(last);
  all.writeUInt32LE(text.length, 0);
  text.copy(all, 4);
  for (const [name, { bytes }] of Object.entries(sections)) bytes.copy(all, places[name].offset);
  return all;
}
