// Backtraces and what their frames are called.

import { type Bundle, DamagedBundle, type Integers, ascending, below } from "./bundle";

export const INLINED = 1;
export const MACHINERY = 2;
export const REMARK = 4;
export const UNKNOWN = 8;
export const CLASS = 16;
export const STARTS = 32;

/** Backtraces as a prefix tree of frames; a frame has one line or more, outermost first. */
export interface Backtraces {
  /** The root's number is 0; it is no frame. */
  nodes: number;
  /** By node; of the root, 0. */
  parent: Uint32Array;
  frame: Uint32Array;
  /** By frame, and one more. */
  first: Integers;
  lines: Lines;
}

/** Lines of frames. */
export interface Lines {
  count: number;
  /** What it is called; "" where that is not known, which `flags` tells. */
  function: string[];
  /** Without parameters, return type and generics. */
  plain: string[];
  file: string[];
  line: Uint32Array;
  /** "" where nobody says. */
  module: string[];
  flags: Uint8Array;
  /** Of a frame of which nothing is known, its code. */
  code: Map<number, string>;
  /** The name of the class where the line says what an object is. */
  className(line: number): string | null;
}

export function readBacktraces(bundle: Bundle): Backtraces {
  const lines = readLines(bundle);
  const first = bundle.integers("frame.first");
  ascending("frame.first", first);
  below("frame.first", first, lines.count + 1);
  const frames = Math.max(0, first.length - 1);
  for (let at = 0; at < frames; at++) {
    if (first[at] === first[at + 1]) throw new DamagedBundle(`the frame ${at} has no line`);
  }
  const parents = bundle.integers("node.parent");
  const nodes = parents.length + 1;
  const ofFrame = bundle.column("node.frame", nodes - 1);
  below("node.frame", ofFrame, frames);
  const [parent, frame] = [new Uint32Array(nodes), new Uint32Array(nodes)];
  parent.set(parents, 1);
  frame.set(ofFrame, 1);
  for (let node = 1; node < nodes; node++) {
    if (parent[node]! >= node) throw new DamagedBundle(`the backtrace ${node} begins with a later one`);
  }
  return { nodes, parent, frame, first, lines };
}

function readLines(bundle: Bundle): Lines {
  const strings = readStrings(bundle);
  const flags = bundle.integers("line.flags");
  const count = flags.length;
  const texts = (name: string): Integers => {
    const column = bundle.column(name, count);
    below(name, column, strings.length);
    return column;
  };
  const [functions, files, modules, plains] = ["function", "file", "module", "plain"].map((it) => texts(`line.${it}`));
  const named = (column: Integers) => Array.from(column, (at) => strings[at]!);
  const plain = Array.from(plains!, (at, line) => strings[at === 0 ? functions![line]! : at]!);
  return linesOf({
    function: named(functions!),
    plain,
    file: named(files!),
    line: Uint32Array.from(bundle.column("line.line", count)),
    module: named(modules!),
    flags: Uint8Array.from(flags),
    code: readCodes(bundle, count),
  });
}

/** Lines that these are. */
export function linesOf(lines: Omit<Lines, "count" | "className">): Lines {
  const className = (line: number): string | null => {
    if ((lines.flags[line]! & CLASS) === 0) return null;
    return lines.function[line]!.slice("[class ".length, -1);
  };
  return { ...lines, count: lines.flags.length, className };
}

function readCodes(bundle: Bundle, lines: number): Map<number, string> {
  const triples = bundle.integers("line.code");
  const codes = new Map<number, string>();
  for (let at = 0; at + 2 < triples.length; at += 3) {
    if (triples[at]! >= lines) throw new DamagedBundle("line.code is of lines that are not there");
    codes.set(triples[at]!, ((BigInt(triples[at + 2]!) << 32n) | BigInt(triples[at + 1]!)).toString(16));
  }
  return codes;
}

function readStrings(bundle: Bundle): string[] {
  const ends = bundle.integers("string.end");
  const bytes = bundle.integers("string.bytes");
  if (!(bytes instanceof Uint8Array)) throw new DamagedBundle("string.bytes is no column of bytes");
  ascending("string.end", ends);
  below("string.end", ends, bytes.length + 1);
  // What is no UTF-8 is shown as such by U+FFFD.
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  const strings = Array.from(ends, (end, at) => decoder.decode(bytes.subarray(at === 0 ? 0 : ends[at - 1]!, end)));
  return strings.length === 0 ? [""] : strings;
}
