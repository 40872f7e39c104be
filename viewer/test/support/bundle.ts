// Writes bundles as docs/format-page.md has them, for tests: of a trace that is made up, sample by sample.

import { deflateSync } from "node:zlib";
import type { Facts } from "../../src/engine/facts";

/** A line of a frame. */
export interface MadeLine {
  function?: string;
  plain?: string;
  file?: string;
  line?: number;
  module?: string;
  inlined?: boolean;
  machinery?: boolean;
  remark?: boolean;
  starts?: boolean;
  /** Of a frame of which nothing is known. */
  code?: number;
}

/** Lines of a frame, outermost first. */
export type MadeFrame = MadeLine[];

export interface MadeSample {
  /** Outermost frame first. */
  frames: MadeFrame[];
  born: number;
  died?: number;
  promoted?: number;
  bytes: number;
  weight: number;
  /** Row of the sources. */
  source?: number;
  thread?: number;
  growth?: boolean;
}

export interface MadeTrace {
  /** In the order of births. */
  samples: MadeSample[];
  facts?: Partial<Facts>;
  documents?: Record<string, any>;
  heap?: any;
  memory?: { time: number[]; resident: number[]; heap: number[]; live: number[] };
  cycles?: { begin: number[]; end: number[]; generation: number[] };
}

type Column = { type: "u8" | "u16" | "u32" | "f64"; values: number[] };

const WIDTHS = { u8: 1, u16: 2, u32: 4, f64: 8 };

function whole(values: number[]): Column {
  const most = values.reduce((a, b) => Math.max(a, b), 0);
  return { type: most < 256 ? "u8" : most < 65536 ? "u16" : "u32", values };
}

/** Gaps of 32 bits, and what they have besides. */
function gaps(name: string, times: number[]): Record<string, Column> {
  const found: number[] = [];
  const high: number[] = [];
  let last = 0;
  times.forEach((time, at) => {
    const gap = time - last;
    const multiple = Math.floor(gap / 2 ** 32);
    found.push(gap - multiple * 2 ** 32);
    if (multiple !== 0) high.push(at, multiple >>> 0);
    last = time;
  });
  const columns: Record<string, Column> = { [`${name}.gap`]: { type: "u32", values: found } };
  if (high.length > 0) columns[`${name}.gap_high`] = { type: "u32", values: high };
  return columns;
}

class Strings {
  readonly texts = [""];
  private readonly ids = new Map([["", 0]]);

  id(text: string | undefined): number {
    const known = this.ids.get(text ?? "");
    if (known !== undefined) return known;
    this.ids.set(text!, this.texts.length);
    return this.texts.push(text!) - 1;
  }
}

/** Backtraces that were met, as rows of the columns. */
class Backtraces {
  readonly parent: number[] = [];
  readonly frame: number[] = [];
  readonly frames: MadeFrame[] = [];
  private readonly nodes = new Map<string, number>();
  private readonly frameIds = new Map<string, number>();

  follow(frames: MadeFrame[]): number {
    return frames.reduce((node, frame) => this.child(node, this.frameId(frame)), 0);
  }

  private child(parent: number, frame: number): number {
    const key = `${parent} ${frame}`;
    const known = this.nodes.get(key);
    if (known !== undefined) return known;
    this.parent.push(parent);
    const node = this.frame.push(frame);
    this.nodes.set(key, node);
    return node;
  }

  private frameId(frame: MadeFrame): number {
    const key = JSON.stringify(frame);
    const known = this.frameIds.get(key);
    if (known !== undefined) return known;
    this.frameIds.set(key, this.frames.length);
    return this.frames.push(frame) - 1;
  }
}

function flagsOf(line: MadeLine): number {
  const isClass = line.function?.startsWith("[class ") ?? false;
  const flags: [boolean | undefined, number][] = [
    [line.inlined, 1],
    [line.machinery, 2],
    [line.remark ?? (line.function?.startsWith("[") && !line.file), 4],
    [line.code !== undefined, 8],
    [isClass, 16],
    [line.starts, 32],
  ];
  return flags.reduce((sum, [is, flag]) => sum + (is ? flag : 0), 0);
}

function ofBacktraces({ parent, frame, frames }: Backtraces): Record<string, Column> {
  const strings = new Strings();
  const lines = frames.flat();
  const first = frames.reduce((all, lines) => [...all, all.at(-1)! + lines.length], [0]);
  const texts = (of: (line: MadeLine) => string | undefined) => whole(lines.map((line) => strings.id(of(line))));
  const columns: Record<string, Column> = {
    "node.parent": whole(parent),
    "node.frame": whole(frame),
    "frame.first": whole(first),
    "line.function": texts((line) => line.function),
    "line.file": texts((line) => line.file),
    "line.module": texts((line) => line.module),
    "line.plain": texts((line) => line.plain),
    "line.line": whole(lines.map((line) => line.line ?? 0)),
    "line.flags": { type: "u8", values: lines.map(flagsOf) },
  };
  const codes = lines.flatMap(({ code }, at) => (code === undefined ? [] : [at, code % 2 ** 32, Math.floor(code / 2 ** 32)]));
  columns["line.code"] = { type: "u32", values: codes };
  const encoded = strings.texts.map((text) => [...new TextEncoder().encode(text)]);
  let end = 0;
  columns["string.end"] = { type: "u32", values: encoded.map((bytes) => (end += bytes.length)) };
  columns["string.bytes"] = { type: "u8", values: encoded.flat() };
  return columns;
}

/** All that happens to samples, in the order of time; in one microsecond births come before changes. */
function ofSamples(samples: MadeSample[], backtraces: Backtraces): Record<string, Column> {
  const kinds = new Map<string, number>();
  const rows: MadeSample[] = [];
  const kindOf = (sample: MadeSample) => {
    const key = [sample.bytes, sample.weight, sample.source ?? 0, sample.growth ?? false].join();
    const known = kinds.get(key) ?? rows.push(sample) - 1;
    kinds.set(key, known);
    return known;
  };
  const changes = samples.flatMap(({ died, promoted }, sample) => [
    ...(promoted === undefined ? [] : [{ time: promoted, what: 2 * sample + 1 }]),
    ...(died === undefined ? [] : [{ time: died, what: 2 * sample }]),
  ]);
  changes.sort((a, b) => a.time - b.time || Number(b.what & 1) - Number(a.what & 1) || a.what - b.what);
  let next = 0;
  const before = samples.map(({ born }) => {
    const from = next;
    while (next < changes.length && changes[next]!.time < born) next++;
    return next - from;
  });
  const columns = {
    "sample.node": whole(samples.map(({ frames }) => backtraces.follow(frames))),
    "sample.kind": whole(samples.map(kindOf)),
    "sample.thread": whole(samples.map(({ thread }) => thread ?? 0)),
    "sample.changes": whole(before),
    "change.what": whole(changes.map(({ what }) => what)),
  };
  return {
    ...columns,
    ...gaps("sample", samples.map(({ born }) => born)),
    ...gaps("change", changes.map(({ time }) => time)),
    "kind.bytes": { type: "f64", values: rows.map(({ bytes }) => bytes) },
    "kind.weight": { type: "f64", values: rows.map(({ weight }) => weight) },
    "kind.source": whole(rows.map(({ source }) => source ?? 0)),
    "kind.flags": { type: "u8", values: rows.map(({ growth }) => Number(growth ?? false)) },
  };
}

export function factsOf({ samples, facts = {} }: MadeTrace): Facts {
  const duration = samples.reduce((last, { born, died }) => Math.max(last, born, died ?? 0), 0);
  return {
    file: "made-up.lt",
    program: "made-up",
    pid: 7,
    command: "made-up --fast",
    end: duration + 1,
    duration,
    start_unix_us: 1_768_225_443_000_000,
    clock: [],
    peak: null,
    exact: false,
    hears_all: true,
    word_bytes: 8,
    has_threads: true,
    interval_bytes: 4096,
    interval_objects: 0,
    samples_in_trace: samples.length,
    thinned: null,
    sources: [{ name: "malloc", source: "native", ocaml: false, ruby: false, unit: "byte", rate: 1 / 4096 }],
    threads: [{ number: 0, name: "main", kernel: 100 }],
    labels: {},
    young_heap_bytes: null,
    notices: [],
    damage: [],
    in_import: null,
    ...facts,
  };
}

/** The bundle of a trace. */
export function bundleOf(trace: MadeTrace): ArrayBuffer {
  const backtraces = new Backtraces();
  const columns: Record<string, Column> = { ...ofSamples(trace.samples, backtraces), ...ofBacktraces(backtraces) };
  const numbers = (values: number[] = []): Column => ({ type: "f64", values });
  for (const name of ["time", "resident", "heap", "live"] as const) columns[`memory.${name}`] = numbers(trace.memory?.[name]);
  columns["cycle.begin"] = numbers(trace.cycles?.begin);
  columns["cycle.end"] = numbers(trace.cycles?.end);
  columns["cycle.generation"] = { type: "u8", values: trace.cycles?.generation ?? [] };
  return written({ facts: factsOf(trace), documents: trace.documents ?? {}, heap: trace.heap ?? null }, columns);
}

/** A header and columns as one buffer. */
export function written(head: Record<string, unknown>, columns: Record<string, Column>): ArrayBuffer {
  const sized = Object.entries(columns).map(([name, column]) => ({ name, ...column, bytes: column.values.length * WIDTHS[column.type] }));
  const aligned = (offset: number) => Math.ceil(offset / 8) * 8;
  // The header's length depends on the offsets in it: they are written with as many digits always.
  const header = (base: number) => {
    let offset = base;
    const sections = Object.fromEntries(
      sized.map(({ name, type, values, bytes }) => {
        const at = offset;
        offset = aligned(offset + bytes);
        return [name, { type, offset: at, length: values.length }];
      }),
    );
    return { text: new TextEncoder().encode(JSON.stringify({ ...head, sections })), end: offset };
  };
  const room = aligned(4 + header(1e9).text.length);
  const { text, end } = header(room);
  const buffer = new ArrayBuffer(end);
  // Spaces at the end of JSON are JSON.
  new Uint8Array(buffer, 4, room - 4).fill(32);
  new Uint8Array(buffer, 4).set(text);
  new DataView(buffer).setUint32(0, room - 4, true);
  let offset = room;
  for (const { type, values, bytes } of sized) {
    const arrays = { u8: Uint8Array, u16: Uint16Array, u32: Uint32Array, f64: Float64Array };
    new arrays[type](buffer, offset, values.length).set(values);
    offset = aligned(offset + bytes);
  }
  return buffer;
}

/** A bundle as a page has it: the text of its script. */
export function packed(bundle: ArrayBuffer): string {
  return deflateSync(new Uint8Array(bundle)).toString("base64");
}
