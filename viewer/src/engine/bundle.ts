// A bundle (docs/format-page.md) as typed arrays. What does not hold together is said in one sentence: nothing is read
// on trust, since a page may have been cut off or edited.

import type { Facts } from "./facts";

/** Why a bundle cannot be read. */
export class DamagedBundle extends Error {
  constructor(what: string) {
    super(`the data of this trace is damaged: ${what}`);
    this.name = "DamagedBundle";
  }
}

export type Integers = Uint8Array | Uint16Array | Uint32Array;
export type Section = Integers | Float64Array;

const TYPES = { u8: Uint8Array, u16: Uint16Array, u32: Uint32Array, f64: Float64Array } as const;

/** What a bundle has, still without meaning. */
export class Bundle {
  private constructor(
    readonly facts: Facts,
    readonly documents: Record<string, any>,
    readonly heap: any | null,
    private readonly sections: Map<string, Section>,
  ) {}

  static read(buffer: ArrayBuffer): Bundle {
    const header = readHeader(buffer);
    const { facts, documents = {}, heap = null, sections } = header;
    if (!isObject(facts)) throw new DamagedBundle("it says nothing of the trace (`facts`)");
    if (!isObject(sections)) throw new DamagedBundle("it does not say where its columns are (`sections`)");
    if (!isObject(documents)) throw new DamagedBundle("its documents are none");
    const read = Object.entries(sections).map(([name, at]) => [name, readSection(buffer, name, at)] as const);
    return new Bundle(checkedFacts(facts), documents, heap ?? null, new Map(read));
  }

  /** A column of whole numbers; without elements if there is none. */
  integers(name: string): Integers {
    const section = this.sections.get(name) ?? new Uint8Array(0);
    if (section instanceof Float64Array) throw new DamagedBundle(`${name} is no column of whole numbers`);
    return section;
  }

  /** A column of whole numbers that has so many elements. */
  column(name: string, length: number): Integers {
    return ofLength(name, this.integers(name), length);
  }

  numbers(name: string): Float64Array {
    const section = this.sections.get(name) ?? new Float64Array(0);
    if (!(section instanceof Float64Array)) throw new DamagedBundle(`${name} is no column of numbers`);
    return section;
  }

  numberColumn(name: string, length: number): Float64Array {
    return ofLength(name, this.numbers(name), length);
  }
}

function ofLength<T extends Section>(name: string, section: T, length: number): T {
  if (section.length !== length) {
    throw new DamagedBundle(`${name} has ${section.length} elements where there should be ${length}`);
  }
  return section;
}

/** That every element is less than `limit`. */
export function below(name: string, section: Integers, limit: number): void {
  for (let at = 0; at < section.length; at++) {
    if (section[at]! >= limit) {
      throw new DamagedBundle(`${name} has ${section[at]} in row ${at}, where all are less than ${limit}`);
    }
  }
}

/** That no element is less than the one before. */
export function ascending(name: string, section: Integers): void {
  for (let at = 1; at < section.length; at++) {
    if (section[at]! < section[at - 1]!) throw new DamagedBundle(`${name} goes back in row ${at}`);
  }
}

function isObject(value: unknown): value is Record<string, any> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function readHeader(buffer: ArrayBuffer): Record<string, any> {
  if (buffer.byteLength < 4) throw new DamagedBundle("it ends before it begins");
  const length = new DataView(buffer).getUint32(0, true);
  if (4 + length > buffer.byteLength) throw new DamagedBundle("its header is cut off");
  let header: unknown;
  try {
    header = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(new Uint8Array(buffer, 4, length)));
  } catch {
    throw new DamagedBundle("its header is no JSON");
  }
  if (!isObject(header)) throw new DamagedBundle("its header is no object");
  return header;
}

function readSection(buffer: ArrayBuffer, name: string, at: unknown): Section {
  if (!isObject(at)) throw new DamagedBundle(`it does not say where ${name} is`);
  const { type, offset, length } = at as { type: keyof typeof TYPES; offset: number; length: number };
  const Column = TYPES[type];
  if (Column === undefined) throw new DamagedBundle(`${name} is of the unknown type ${String(type)}`);
  const isPlace = Number.isSafeInteger(offset) && Number.isSafeInteger(length) && offset >= 0 && length >= 0;
  if (!isPlace || offset % 8 !== 0) throw new DamagedBundle(`it does not say where ${name} is`);
  if (offset + length * Column.BYTES_PER_ELEMENT > buffer.byteLength) throw new DamagedBundle(`${name} is cut off`);
  return new Column(buffer, offset, length);
}

const NUMBERS = ["end", "duration", "start_unix_us", "interval_bytes", "interval_objects"] as const;
const LISTS = ["clock", "sources", "threads"] as const;

function checkedFacts(facts: Record<string, any>): Facts {
  for (const name of NUMBERS) {
    if (typeof facts[name] !== "number") throw new DamagedBundle(`it lacks the number ${name}`);
  }
  for (const name of LISTS) {
    if (!Array.isArray(facts[name])) throw new DamagedBundle(`it lacks the list ${name}`);
  }
  if (!isObject(facts.labels)) throw new DamagedBundle("it lacks the labels");
  return facts as unknown as Facts;
}
