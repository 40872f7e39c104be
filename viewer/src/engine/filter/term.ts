// What a filter says: terms, all of which must hold; and the one text that each is written as.

import { isSpace } from "../grammar/scan";
import { type Span, writtenShare, writtenSize, writtenSpan, writtenTime } from "../grammar/quantity";
import type { Pattern } from "./regex";
import { writtenDate } from "./date";

/** What a name must be like: exactly so, with this in it, or as a regular expression has it. */
export interface Text {
  operator: "=" | ":" | "~";
  text: string;
  /** Of `~`. */
  pattern: Pattern | null;
}

/** Microseconds from a point of the trace, a part of its time in millionths, or microseconds since 1970. */
export type Moment =
  | { kind: "from"; anchor: "start" | "end" | "peak"; offset: bigint }
  | { kind: "share"; share: bigint }
  | { kind: "date"; micros: bigint };

export type When =
  | { kind: "at" | "before" | "after"; moment: Moment }
  | { kind: "between"; moment: Moment; until: Moment };

export type Limits<T> =
  | { kind: "=" | "<" | "<=" | ">" | ">="; value: T }
  | { kind: "between"; value: T; below: T };

export type FramePattern =
  | { about: "fn" | "module" | "class"; name: Text }
  | { about: "file"; name: Text; line: number | null };

export const SOURCES = ["native", "minor", "major", "external", "ocaml", "ruby", "mmap", "arena"] as const;
export type KnownSource = (typeof SOURCES)[number];

export type PresetName =
  | "leaks"
  | "temporary"
  | "long-lived"
  | "churn"
  | "premature"
  | "peak"
  | "deserialised";

export type Claim =
  | { is: "preset"; preset: PresetName }
  | { is: "allocated" | "alive"; when: When }
  | { is: "freed" | "promoted"; when: When | null }
  | { is: "in old heap" }
  | { is: "size"; limits: Limits<bigint> }
  | { is: "lifetime"; limits: Limits<Span> }
  | { is: "thread"; number: number }
  | { is: "thread name"; name: Text }
  | { is: "source"; source: KnownSource }
  | { is: "sampler"; name: Text }
  | { is: "frame"; innermost: boolean; pattern: FramePattern }
  | { is: "label"; key: string; value: Text | null };

/** A claim, or that it does not hold. */
export interface Term {
  negated: boolean;
  claim: Claim;
}

export const ZERO: Moment = { kind: "from", anchor: "start", offset: 0n };

export function writtenTerms(terms: Term[]): string {
  return terms.map(({ negated, claim }) => (negated ? "not " : "") + writtenClaim(claim)).join(" ");
}

function writtenClaim(claim: Claim): string {
  switch (claim.is) {
    case "preset":
      return claim.preset;
    case "allocated":
    case "alive":
    case "freed":
    case "promoted":
      return claim.is + (claim.when === null ? "" : writtenWhen(claim.when));
    case "in old heap":
      return claim.is;
    case "size":
      return `size${writtenLimits(claim.limits, writtenSize)}`;
    case "lifetime":
      return `lifetime${writtenLimits(claim.limits, writtenSpan)}`;
    case "thread":
      return `thread=${claim.number}`;
    case "thread name": {
      const { name } = claim;
      const isNumber = name.operator === "=" && /^[0-9]*$/.test(name.text);
      return `thread${isNumber ? `=${quoted(name.text)}` : writtenText(name)}`;
    }
    case "source":
      return `source=${claim.source}`;
    case "sampler":
      return `source${claim.name.operator === "=" ? `=${quoted(claim.name.text)}` : writtenText(claim.name)}`;
    case "frame":
      return (claim.innermost ? "innermost " : "") + writtenPattern(claim.pattern);
    case "label": {
      const key = /^[\p{Alphabetic}\p{N}\-_./]+$/u.test(claim.key) ? claim.key : quoted(claim.key);
      return `label ${key}${claim.value === null ? "" : writtenText(claim.value)}`;
    }
  }
}

export function writtenPattern(pattern: FramePattern): string {
  const { about, name } = pattern;
  if (about !== "file") return about + writtenText(name);
  const isAmbiguous =
    name.operator === "~" ? pattern.line !== null : splitLine(name.text)[1] !== null;
  const text = isAmbiguous || needsQuotes(name.text) ? quoted(name.text) : name.text;
  return `file${name.operator}${text}${pattern.line === null ? "" : `:${pattern.line}`}`;
}

function writtenWhen(when: When): string {
  if (when.kind === "between") return ` ${writtenMoment(when.moment)}..${writtenMoment(when.until)}`;
  return ` ${when.kind} ${writtenMoment(when.moment)}`;
}

export function writtenMoment(moment: Moment): string {
  if (moment.kind === "share") return writtenShare(moment.share);
  if (moment.kind === "date") return writtenDate(moment.micros);
  const { anchor, offset } = moment;
  if (offset === 0n) return anchor;
  if (anchor === "start" && offset > 0n) return writtenTime(offset);
  return offset < 0n ? `${anchor}-${writtenTime(-offset)}` : `${anchor}+${writtenTime(offset)}`;
}

function writtenLimits<T>(limits: Limits<T>, write: (value: T) => string): string {
  if (limits.kind === "between") return `=${write(limits.value)}..${write(limits.below)}`;
  return limits.kind + write(limits.value);
}

function writtenText({ operator, text }: Text): string {
  return operator + (needsQuotes(text) ? quoted(text) : text);
}

/** What a name without quotes cannot begin with: it would be taken for something else. */
export const BARE_NEVER_BEGINS = "\"'=:~!";

/** Whether a name is only understood in quotes, as a term's or as a step of a path. */
export function needsQuotes(text: string): boolean {
  if (text === "" || BARE_NEVER_BEGINS.includes(text[0]!) || text.endsWith(",")) return true;
  return [...text].some((next) => next === ";" || isSpace(next) || /\p{Cc}/u.test(next));
}

function quoted(text: string): string {
  return `"${text.replaceAll('"', '""')}"`;
}

/** A file's name and the line behind it. */
export function splitLine(text: string): [string, string | null] {
  const at = text.lastIndexOf(":");
  const line = text.slice(at + 1);
  return at >= 0 && /^[0-9]+$/.test(line) ? [text.slice(0, at), line] : [text, null];
}
