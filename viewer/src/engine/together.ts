// Several traces added up, by what frames are called, each at its own peak (crates/analysis/src/merged.rs).

import type * as api from "./api";
import type { Answer } from "./answer";
import { type Accounts, callsites } from "./callsites";
import { type Amount, type Estimate, isOfSome, ofAll } from "./estimate";
import type { Facts } from "./facts";
import { isMistake } from "./filter/parse";
import { parseView } from "./filter/frames";
import { promotedOf, totalOf } from "./holdings";
import { type Backtraces, type Lines, linesOf, UNKNOWN } from "./names";
import { PrefixTree } from "./prefix_tree";
import { shape } from "./shape";
import { findSites } from "./sites";
import { tree } from "./trees";

export function together(answers: api.Answer[]): ReturnType<api.Engine["together"]> {
  const all = answers as Answer[];
  const { question } = all[0]!;
  const facts = all.map((answer) => answer.trace.facts).reduce(coarser);
  const merged = new Merged();
  const nodes = all.map((answer) => merged.lay(answer.trace.backtraces));
  const view = parseView(question.hide, question.focus, question.collapseRecursion);
  if (isMistake(view)) throw new Error(view.message);
  const sites = findSites(shape(merged.backtraces(), view));
  const parts = all.map(({ holdings }, at) => ({
    holdings,
    target: nodes[at]!.map((node) => sites.shaped.of[node]!),
  }));
  const accounts: Accounts = { facts, sites, parts, metric: question.metric };
  const ofSome = all.some(({ trace, canonical }) => isOfSome(trace.facts, canonical));
  const total = (metric: "allocated" | "live" | "peak") =>
    ofAll(all.map(({ holdings }) => totalOf(holdings, metric)).reduce(added), facts, ofSome);
  const promoted = all.map(({ lives, trace }) => promotedOf(lives, trace.facts)).reduce(added);
  return {
    totals: {
      allocated: total("allocated"),
      promoted: ofAll(promoted, facts, ofSome),
      peak: total("peak"),
      peakTime: null,
      live: total("live"),
    },
    callsites: callsites(accounts),
    tree: (inverted) => tree(accounts, inverted),
  };
}

function added(one: Amount, other: Amount): Amount {
  const sum = (a: Estimate, b: Estimate): Estimate => ({
    value: a.value + b.value,
    variance: a.variance + b.variance,
    uncertain: a.uncertain + b.uncertain,
  });
  return {
    samples: one.samples + other.samples,
    bytes: sum(one.bytes, other.bytes),
    objects: sum(one.objects, other.objects),
  };
}

/** What is said of the more thinly sampled one; exact only if both are. */
function coarser(one: Facts, other: Facts): Facts {
  const chosen = one.interval_bytes >= other.interval_bytes ? one : other;
  return { ...chosen, exact: one.exact && other.exact, hears_all: one.hears_all && other.hears_all };
}

/** Backtraces laid over each other. */
class Merged {
  private readonly tree = new PrefixTree();
  private readonly frames = new Map<string, number>();
  private readonly first: number[] = [0];
  private readonly lines = {
    function: [] as string[],
    plain: [] as string[],
    file: [] as string[],
    line: [] as number[],
    module: [] as string[],
    flags: [] as number[],
  };

  /** The nodes that those of a trace have become. */
  lay(of: Backtraces): Uint32Array {
    const frames = new Map<number, number>();
    const nodes = new Uint32Array(of.nodes);
    for (let node = 1; node < of.nodes; node++) {
      let frame = frames.get(of.frame[node]!);
      if (frame === undefined) frames.set(of.frame[node]!, (frame = this.frame(of, of.frame[node]!)));
      nodes[node] = this.tree.child(nodes[of.parent[node]!]!, frame);
    }
    return nodes;
  }

  backtraces(): Backtraces {
    const { size, parent, label } = this.tree;
    const lines = linesOf({
      ...this.lines,
      line: Uint32Array.from(this.lines.line),
      flags: Uint8Array.from(this.lines.flags),
      code: new Map(),
    });
    const frame = label.slice(0, size);
    return { nodes: size, parent: parent.slice(0, size), frame, first: Uint32Array.from(this.first), lines };
  }

  private frame({ first, lines }: Backtraces, frame: number): number {
    const own = Array.from({ length: first[frame + 1]! - first[frame]! }, (_, at) => first[frame]! + at);
    const key = own.map((line) => lookOf(lines, line)).join("\x01");
    const known = this.frames.get(key);
    if (known !== undefined) return known;
    for (const line of own) this.add(lines, line);
    this.first.push(this.lines.flags.length);
    this.frames.set(key, this.frames.size);
    return this.frames.size - 1;
  }

  /** Frames that have no name are addresses, which mean nothing in another process: those of one object file become one. */
  private add(lines: Lines, line: number): void {
    const isUnknown = (lines.flags[line]! & UNKNOWN) !== 0;
    const { function: functions, plain, file, line: numbers, module, flags } = this.lines;
    functions.push(isUnknown ? "(unknown frame)" : lines.function[line]!);
    plain.push(isUnknown ? "(unknown frame)" : lines.plain[line]!);
    file.push(isUnknown ? lines.module[line]! : lines.file[line]!);
    numbers.push(isUnknown ? 0 : lines.line[line]!);
    module.push(lines.module[line]!);
    flags.push(lines.flags[line]! & ~UNKNOWN);
  }
}

function lookOf(lines: Lines, line: number): string {
  const flags = lines.flags[line]!;
  if ((flags & UNKNOWN) !== 0) return `?\0${lines.module[line]}\0${flags}`;
  return [lines.function[line], lines.file[line], lines.line[line], lines.module[line], flags].join("\0");
}
