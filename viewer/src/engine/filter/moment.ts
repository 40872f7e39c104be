// Moments of a trace: from text, and to microseconds since its start.

import { Wrong, clipped } from "../grammar/mistake";
import { A_TIME, DecimalNumber, shareAfter, time, timeAfter } from "../grammar/quantity";
import { isDigit, isLetter, type Scanner } from "../grammar/scan";
import { expected } from "../grammar/mistake";
import { date, isDateNext } from "./date";
import type { Moment, When } from "./term";

export const A_MOMENT =
  "a moment: 10s, 50%, start, end, peak, end-5min or a date such as 2026-01-12T13:44:03Z";

export const ANCHORS = ["start", "end", "peak"] as const;

/** A moment; there is no space before it. */
export function moment(scanner: Scanner): Moment {
  if (isDateNext(scanner)) return { kind: "date", micros: date(scanner) };
  const next = scanner.peek();
  if (isDigit(next)) return shareOrOffset(scanner);
  if (scanner.eat("+")) return { kind: "from", anchor: "start", offset: time(scanner) };
  if (next !== "" && isLetter(next)) return anchored(scanner);
  throw expected(A_MOMENT);
}

function shareOrOffset(scanner: Scanner): Moment {
  const from = scanner.at;
  const number = DecimalNumber.scan(scanner, A_TIME);
  if (scanner.peek() === ":") {
    scanner.takeWhile((next) => next === ":" || isDigit(next));
    scanner.mark(from, scanner.at);
    throw new Wrong("a time of day needs its day, as in 2026-01-12T13:44:03Z");
  }
  const share = shareAfter(scanner, number);
  if (share !== null) return { kind: "share", share };
  return { kind: "from", anchor: "start", offset: timeAfter(scanner, number) };
}

function anchored(scanner: Scanner): Moment {
  const from = scanner.at;
  const word = scanner.takeWhile(isLetter);
  const anchor = ANCHORS.find((it) => it === word.toLowerCase());
  if (anchor === undefined) {
    scanner.mark(from, scanner.at);
    throw new Wrong(`unknown moment \`${clipped(word)}\``, "moment", clipped(word));
  }
  let offset = 0n;
  if (scanner.eat("-")) offset = -time(scanner);
  else if (scanner.eat("+")) offset = time(scanner);
  return { kind: "from", anchor, offset };
}

/** Whether one moment certainly does not come before the other, whatever the trace. */
export function neverPrecedes(one: Moment, other: Moment): boolean {
  if (one.kind === "from" && other.kind === "from") return one.anchor === other.anchor && one.offset >= other.offset;
  if (one.kind === "share" && other.kind === "share") return one.share >= other.share;
  if (one.kind === "date" && other.kind === "date") return one.micros >= other.micros;
  return false;
}

/** What moments mean in one trace, in microseconds since its start. */
export interface Bounds {
  /** The microsecond after the last event. */
  end: number;
  peak: number;
  /** What the wall clock shows at the start. */
  startUnix: number;
  /** What it showed at later moments, in their order. */
  clock: [number, number][];
}

/** From `low` on, up to and without `high`. */
export interface Window {
  low: number;
  high: number;
}

export const ALL_TIME: Window = { low: -Infinity, high: Infinity };

/** This part of a whole number, in millionths, rounded down. */
export function part(share: bigint, whole: number): number {
  return Number((BigInt(Math.max(0, Math.trunc(whole))) * share) / 1_000_000n);
}

export function micros(moment: Moment, bounds: Bounds): number {
  switch (moment.kind) {
    case "share":
      return part(moment.share, bounds.end);
    case "date":
      return firstShowing(Number(moment.micros), bounds);
    case "from": {
      const anchor = { start: 0, end: bounds.end, peak: bounds.peak }[moment.anchor];
      return anchor + Number(moment.offset);
    }
  }
}

/** The first moment at which the wall clock shows `wall`, or is past it. */
function firstShowing(wall: number, bounds: Bounds): number {
  let [from, ahead] = [-Infinity, bounds.startUnix];
  for (const [at, shows] of bounds.clock) {
    const moment = Math.max(wall - ahead, from);
    if (moment < at) return moment;
    [from, ahead] = [at, shows - at];
  }
  return Math.max(wall - ahead, from);
}

export function window(when: When, bounds: Bounds): Window {
  const first = micros(when.moment, bounds);
  switch (when.kind) {
    case "at":
      return { low: first, high: first + 1 };
    case "before":
      return { low: -Infinity, high: first };
    case "after":
      return { low: first, high: Infinity };
    case "between":
      return { low: first, high: micros(when.until, bounds) };
  }
}
