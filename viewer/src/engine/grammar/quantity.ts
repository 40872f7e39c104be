// Sizes, spans of time and shares, as people type them; whole numbers of the smallest unit, without rounding.
// They are big integers, since a size may be anything up to 2^64.

import { Wrong, clipped, expected } from "./mistake";
import { isDigit, isLetter, type Scanner } from "./scan";

type Units = [string, bigint][];

const SECOND = 1_000_000n;
const TIMES: Units = [
  ["us", 1n],
  ["ms", 1000n],
  ["s", SECOND],
  ["min", 60n * SECOND],
  ["m", 60n * SECOND],
  ["h", 3600n * SECOND],
  ["d", 86_400n * SECOND],
];
const SIZES: Units = [
  ["B", 1n],
  ["KB", 1000n],
  ["MB", 1_000_000n],
  ["GB", 1_000_000_000n],
  ["TB", 1_000_000_000_000n],
  ["KiB", 1n << 10n],
  ["MiB", 1n << 20n],
  ["GiB", 1n << 30n],
  ["TiB", 1n << 40n],
  ["K", 1n << 10n],
  ["M", 1n << 20n],
  ["G", 1n << 30n],
  ["T", 1n << 40n],
];
/** The units that are written, the greatest first. */
const WRITTEN_SIZES: Units = [
  ["TiB", 1n << 40n],
  ["TB", 1_000_000_000_000n],
  ["GiB", 1n << 30n],
  ["GB", 1_000_000_000n],
  ["MiB", 1n << 20n],
  ["MB", 1_000_000n],
  ["KiB", 1n << 10n],
  ["KB", 1000n],
];
const WRITTEN_TIMES: Units = [
  ["d", 86_400n * SECOND],
  ["h", 3600n * SECOND],
  ["min", 60n * SECOND],
  ["s", SECOND],
  ["ms", 1000n],
];

export const A_SIZE = "a size, such as 4096, 64KiB or 1.5MB";
export const A_TIME = "a time with its unit (us, ms, s, min, h, d), such as 500ms or 1h30min";
export const A_SPAN =
  "a time with its unit (us, ms, s, min, h, d) or a share of the trace, such as 500ms or 25%";

const U64 = (1n << 64n) - 1n;
const I64 = (1n << 63n) - 1n;
/** Shares are in millionths. */
const PERCENT = 10_000n;

/** How long something lasts: in microseconds, or in millionths of the trace. */
export interface Span {
  kind: "time" | "share";
  value: bigint;
}

export function writtenTime(micros: bigint): string {
  return written(micros, WRITTEN_TIMES, micros === 0n ? "s" : "us");
}

export function writtenSize(bytes: bigint): string {
  return written(bytes, WRITTEN_SIZES, "B");
}

export function writtenShare(millionths: bigint): string {
  const decimals = (millionths % PERCENT).toString().padStart(4, "0").replace(/0+$/, "");
  return `${millionths / PERCENT}${decimals === "" ? "" : "."}${decimals}%`;
}

export function writtenSpan(span: Span): string {
  return span.kind === "time" ? writtenTime(span.value) : writtenShare(span.value);
}

function written(value: bigint, units: Units, smallest: string): string {
  const unit = units.find(([, scale]) => value > 0n && value % scale === 0n);
  return unit === undefined ? `${value}${smallest}` : `${value / unit[1]}${unit[0]}`;
}

/** A size with its unit; without one it is bytes. */
export function size(scanner: Scanner): bigint {
  const number = DecimalNumber.scan(scanner, A_SIZE);
  return number.times(unit(scanner, SIZES) ?? 1n, "bytes");
}

/** A time, or a share of the trace's. */
export function span(scanner: Scanner): Span {
  const number = DecimalNumber.scan(scanner, A_SPAN);
  const share = shareAfter(scanner, number);
  return share === null ? { kind: "time", value: timeAfter(scanner, number) } : { kind: "share", value: share };
}

/** A time: one or more numbers with their units, the greatest first. */
export function time(scanner: Scanner): bigint {
  return timeAfter(scanner, DecimalNumber.scan(scanner, A_TIME));
}

/** The rest of a time whose first number has been read. */
export function timeAfter(scanner: Scanner, first: DecimalNumber): bigint {
  let [number, sum, lastScale] = [first, 0n, U64];
  for (;;) {
    let scale = unit(scanner, TIMES);
    if (scale === null && number.isZero() && lastScale === U64) scale = 1n;
    if (scale === null) throw new Wrong("a time needs its unit: us, ms, s, min, h or d");
    if (scale >= lastScale) throw new Wrong("the greater unit comes first, as in 1h30min");
    lastScale = scale;
    sum += number.times(scale, "microseconds");
    if (!isDigit(scanner.peek())) {
      if (sum > I64) throw new Wrong("the number is too large");
      return sum;
    }
    number = DecimalNumber.scan(scanner, A_TIME);
  }
}

/** `%`, and the share that the number before it means. */
export function shareAfter(scanner: Scanner, number: DecimalNumber): bigint | null {
  const ahead = scanner.copy();
  ahead.skipSpace();
  if (!ahead.eat("%")) return null;
  scanner.become(ahead);
  const millionths = number.times(PERCENT, "millionths of the trace");
  if (millionths > 100n * PERCENT) throw new Wrong("more than 100 %");
  return millionths;
}

/** A decimal number as it stands. */
export class DecimalNumber {
  private constructor(
    private readonly whole: string,
    private readonly fraction: string,
  ) {}

  static scan(scanner: Scanner, what: string): DecimalNumber {
    const whole = scanner.takeWhile(isDigit);
    if (whole === "") throw expected(what);
    const decimals = scanner.copy();
    let fraction = "";
    if (decimals.eat(".") && isDigit(decimals.peek())) {
      fraction = decimals.takeWhile(isDigit);
      scanner.become(decimals);
    }
    return new DecimalNumber(whole, fraction.replace(/0+$/, ""));
  }

  isZero(): boolean {
    return this.fraction === "" && /^0*$/.test(this.whole);
  }

  /** So many times `scale`, in integers. */
  times(scale: bigint, units: string): bigint {
    const tooLarge = new Wrong("the number is too large");
    // No number of 40 digits is in any range; reading longer ones would take time quadratic in their length.
    const digits = this.whole.replace(/^0+(?=.)/, "");
    if (digits.length > 39) throw tooLarge;
    // Anything smaller than a part in 10^20 of the greatest unit is no whole number.
    const decimals = this.fraction.slice(0, 20);
    const divisor = 10n ** BigInt(decimals.length);
    const part = BigInt(decimals) * scale;
    const nearest = BigInt(digits) * scale + (part + divisor / 2n) / divisor;
    if (nearest > U64) throw tooLarge;
    if (decimals.length === this.fraction.length && part % divisor === 0n) return nearest;
    throw new Wrong(`not a whole number of ${units}; the nearest is ${nearest}`);
  }
}

/** The unit that comes next, right behind the number or after a space; null if no letter does, or if what comes after
 * the space is no unit. */
function unit(scanner: Scanner, units: Units): bigint | null {
  const ahead = scanner.copy();
  const hasSpace = ahead.skipSpace();
  const from = ahead.at;
  const word = ahead.takeWhile(isLetter);
  const found = units.find(([name]) => name.toLowerCase() === word.toLowerCase());
  if (found !== undefined) {
    scanner.become(ahead);
    return found[1];
  }
  if (hasSpace || word === "") return null;
  scanner.mark(from, ahead.at);
  throw new Wrong(`unknown unit \`${clipped(word)}\``);
}
