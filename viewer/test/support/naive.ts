// What a filter and a view mean, straightforwardly: sample by sample, backtrace by backtrace.

import type { Facts } from "../../src/engine/facts";
import { ALL_TIME, part, window, type Bounds } from "../../src/engine/filter/moment";
import { presetTerms } from "../../src/engine/filter/presets";
import type { Claim, FramePattern, Limits, Term, Text } from "../../src/engine/filter/term";
import type { FrameView } from "../../src/engine/filter/frames";
import type { MadeLine, MadeSample } from "./bundle";

function likes({ operator, text, pattern }: Text, name: string): boolean {
  if (operator === "=") return name === text;
  return operator === ":" ? name.includes(text) : pattern!.test(name);
}

export function isLike(pattern: FramePattern, line: MadeLine): boolean {
  const name = pattern.name;
  const isPath = (path: string) =>
    name.operator === "=" ? path === name.text || path.endsWith(`/${name.text}`) : likes(name, path);
  const isKnown = line.code === undefined;
  switch (pattern.about) {
    case "fn":
      return isKnown && (likes(name, line.function ?? "") || likes(name, line.plain ?? line.function ?? ""));
    case "file":
      return isKnown && (pattern.line === null || pattern.line === (line.line ?? 0)) && isPath(line.file ?? "");
    case "module":
      if (line.module) return isPath(line.module);
      return isKnown && (line.line ?? 0) === 0 && isPath(line.file ?? "");
    case "class": {
      const found = /^\[class (.*)\]$/.exec(line.function ?? "");
      return found !== null && likes(name, found[1]!);
    }
  }
}

const isRemark = (line: MadeLine) => !line.file && (line.function ?? "").startsWith("[");

/** The innermost line that gives a reason; null without lines. */
export function callsiteOf(lines: MadeLine[]): number | null {
  let [found, isFound, isNamed] = [null as number | null, false, false];
  lines.forEach((line, at) => {
    const isUnknown = line.code !== undefined;
    const isOne = !line.machinery && !(isUnknown && isNamed);
    if (isOne || (!isFound && !(at > 0 && isRemark(line)))) found = at;
    isNamed ||= isOne && !isUnknown && !line.starts;
    isFound ||= isOne;
  });
  return found;
}

/** Whether all terms hold for a sample. */
export function holds(terms: Term[], sample: MadeSample, facts: Facts): boolean {
  const inOldHeap = terms.some(({ negated, claim }) => !negated && claim.is === "in old heap");
  const isOld = facts.sources[sample.source ?? 0]!.source === "major";
  const born = inOldHeap && sample.promoted !== undefined && !isOld ? sample.promoted : sample.born;
  return holdsBornAt(terms, { ...sample, born }, facts);
}

function holdsBornAt(terms: Term[], sample: MadeSample, facts: Facts): boolean {
  return terms.every(({ negated, claim }) => claimHolds(claim, sample, facts) !== negated);
}

function claimHolds(claim: Claim, sample: MadeSample, facts: Facts): boolean {
  const bounds: Bounds = { end: facts.end, peak: facts.peak ?? 0, startUnix: facts.start_unix_us, clock: facts.clock };
  const isIn = ({ low, high }: { low: number; high: number }, time: number | undefined) =>
    time !== undefined && low <= time && time < high;
  const source = facts.sources[sample.source ?? 0]!;
  const thread = facts.threads[sample.thread ?? 0];
  const lines = sample.frames.flat();
  switch (claim.is) {
    case "preset":
      return holdsBornAt(presetTerms(claim.preset), sample, facts);
    case "allocated":
      return isIn(window(claim.when, bounds), sample.born);
    case "freed":
      return isIn(claim.when === null ? ALL_TIME : window(claim.when, bounds), sample.died);
    case "promoted":
      return isIn(claim.when === null ? ALL_TIME : window(claim.when, bounds), sample.promoted);
    case "in old heap":
      return sample.promoted !== undefined || source.source === "major";
    case "alive": {
      const { low, high } = window(claim.when, bounds);
      return Math.max(low, sample.born) < Math.min(high, sample.died ?? Infinity);
    }
    case "size":
      return inLimits(claim.limits, sample.bytes, Number);
    case "lifetime": {
      const micros = (span: { kind: string; value: bigint }) =>
        span.kind === "time" ? Number(span.value) : part(span.value, facts.end);
      if (sample.died !== undefined) return inLimits(claim.limits, Math.max(0, sample.died - sample.born), micros);
      return [">", ">="].includes(claim.limits.kind) && inLimits(claim.limits, facts.end - sample.born, micros);
    }
    case "thread":
      return thread?.number === claim.number;
    case "thread name":
      return thread?.name ? likes(claim.name, thread.name) : false;
    case "source":
      if (claim.source === "ocaml" || claim.source === "ruby") return source[claim.source];
      if (claim.source === "mmap") return ["mmap", "arena"].includes(source.name ?? "");
      if (claim.source === "arena") return source.name === "arena";
      return source.source === claim.source || (claim.source === "external" && source.source === "native");
    case "sampler":
      return source.name !== null && likes(claim.name, source.name);
    case "frame": {
      if (!claim.innermost) return lines.some((line) => isLike(claim.pattern, line));
      const at = callsiteOf(lines);
      return at !== null && isLike(claim.pattern, lines[at]!);
    }
    case "label":
      return claim.key in facts.labels && (claim.value === null || likes(claim.value, facts.labels[claim.key]!));
  }
}

function inLimits<T>(limits: Limits<T>, value: number, number: (value: T) => number): boolean {
  const limit = number(limits.value);
  switch (limits.kind) {
    case "=":
      return value === limit;
    case "<":
      return value < limit;
    case "<=":
      return value <= limit;
    case ">":
      return value > limit;
    case ">=":
      return value >= limit;
    case "between":
      return limit <= value && value < number(limits.below);
  }
}

const functionOf = (line: MadeLine) =>
  line.code !== undefined ? `?${line.code}` : line.function ? `=${line.function}|${line.file}` : `@${line.file}|${line.line}`;

/** What a view makes of a backtrace, outermost line first; null if it is left out as a whole. */
export function shown(view: FrameView, frames: MadeLine[]): MadeLine[] | null {
  let lines = frames.filter((line) => !view.hide.some((pattern) => isLike(pattern, line)));
  if (view.collapseRecursion) {
    const kept: MadeLine[] = [];
    for (const line of lines) {
      const earlier = kept.findIndex((it) => functionOf(it) === functionOf(line));
      if (earlier >= 0) kept.length = earlier;
      kept.push(line);
    }
    lines = kept;
  }
  if (view.focus === null) return lines;
  let [first, from] = [null as number | null, 0];
  for (const stretch of view.focus) {
    let at = from;
    const isHere = () => stretch.every((pattern, step) => at + step < lines.length && isLike(pattern, lines[at + step]!));
    while (at < lines.length && !isHere()) at++;
    if (at >= lines.length) return null;
    first ??= at;
    from = at + stretch.length;
  }
  return lines.slice(first ?? 0);
}
