// Numbers for people, in the words of the text report (crates/human): as many digits as an interval deserves.

import type { Measured, Metric } from "../../engine/api";

/** What a number counts. */
export type Unit = "bytes" | "objects" | "byte-seconds";

type Scale = [number, string];

const BYTES: Scale[] = [
  [1, " B"],
  [2 ** 10, " KiB"],
  [2 ** 20, " MiB"],
  [2 ** 30, " GiB"],
  [2 ** 40, " TiB"],
  [2 ** 50, " PiB"],
];
const COUNTS: Scale[] = [
  [1, ""],
  [1e6, " million"],
  [1e9, " billion"],
];

/** Leading digits from which on an interval has one digit. */
const ONE_DIGIT_FROM = 3.55;
/** Upwards an interval may reach so many times as far as downwards and still be written with ±. */
const EVEN = 1.2;
/** Of fewer samples an estimate is a hint. */
export const FEW_SAMPLES = 5;
/** Where the interval of so few samples begins, as a part of the estimate. */
const FEW_REACH_TO = 0.34;

/** A size: `411 MiB`. */
export function bytes(value: number): string {
  return signed(value, (value) => {
    const [scale, unit] = scaleOf(value, BYTES, 1);
    const scaled = value / scale;
    const places = scale === 1 || scaled % 1 === 0 ? 0 : Math.max(decimals(scaled, 3), 0);
    return rounded(scaled, places) + unit;
  });
}

/** A number of things: `1,234,567`, `23.5 million`. */
export function count(value: number): string {
  return signed(value, (value) => {
    const [scale, unit] = scaleOf(value, COUNTS, 10);
    const places = scale === 1 ? 0 : Math.max(decimals(value / scale, 3), 0);
    return rounded(value / scale, places) + unit;
  });
}

/** A share between 0 and 1: `34.2 %`. */
export function percent(share: number): string {
  return Number.isFinite(share) ? `${(100 * share).toFixed(1)} %` : "";
}

/** A value without an interval, in its unit. */
export function plain(value: number, unit: Unit): string {
  if (unit === "objects") return count(value);
  return unit === "bytes" ? bytes(value) : `${bytes(value)}·s`;
}

/** An estimate: `412 ± 9 MiB`, `2.5 (0.9–5.5) MiB`, `< 2.5 MiB`. */
export function estimate(of: Measured, unit: Unit): string {
  const text = withInterval(of, unit === "objects" ? COUNTS : BYTES);
  if (text === null) return plain(of.value, unit);
  return unit === "byte-seconds" ? `${text}·s` : text;
}

/** A number of objects: `12,300 ± 400`. */
export function objects(of: Measured): string {
  return estimate(of, "objects");
}

/** Bytes per hour: `8.2 ± 0.9 MiB/h`; what may be 0 is a bound, and what falls has a sign. */
export function perHour(value: number, low: number, high: number): string {
  if (!Number.isFinite(high - low)) return "unknown";
  const half = (high - low) / 2;
  const rate = (value: number) => `${estimate({ value, low: value - half, high: value + half }, "bytes")}/h`;
  return high < 0 ? `−${rate(-value)}` : rate(value);
}

/** A change: `+38 ± 13 MiB`; without a sign where it may as well be the other one: `< 61 MiB`. */
export function change(change: number, halfWidth: number, unit: Unit): string {
  const size = Math.abs(change);
  const text = estimate({ value: size, low: size - halfWidth, high: size + halfWidth }, unit);
  if (text.startsWith("<") || change === 0) return text;
  return (change < 0 ? "−" : "+") + text;
}

/** A change as a part of what was before: `+31.7 %`, `new`, `gone`. */
export function relative(before: number, after: number): string {
  if (before > 0 && after > 0) {
    const part = (after - before) / before;
    return `${part < 0 ? "−" : "+"}${(100 * Math.abs(part)).toFixed(1)} %`;
  }
  if (after > 0) return "new";
  return before > 0 ? "gone" : "";
}

/** A p-value: `p = 0.03`, `p < 0.0001`. */
export function pValue(p: number): string {
  if (!Number.isFinite(p)) return "";
  return p < 1e-4 ? "< 0.0001" : p.toPrecision(2).replace(/e.*/, "");
}

/** Whether an estimate is little more than a hint: it may be nothing, or rests on a handful of samples. */
export function isNoise(of: Measured, samples?: number): boolean {
  if (samples !== undefined && samples < FEW_SAMPLES && of.high > of.low) return true;
  if (of.value < 0) return of.high >= 0;
  return of.high > of.low && of.low < FEW_REACH_TO * of.value;
}

/** What a metric counts. */
export function unitOf(metric: Metric): Unit {
  if (metric === "objects") return "objects";
  return metric === "byte-seconds" ? "byte-seconds" : "bytes";
}

/** A metric in a sentence: by bytes allocated. */
export function measure(metric: Metric): string {
  switch (metric) {
    case "allocated":
      return "bytes allocated";
    case "live":
      return "bytes live at the end";
    case "peak":
      return "bytes live at the peak";
    case "objects":
      return "objects allocated";
    case "byte-seconds":
      return "bytes times the seconds that they lived";
  }
}

/** A metric at the head of a column. */
export function metricName(metric: Metric): string {
  return metric === "live" ? "live at end" : metric === "peak" ? "at the peak" : metric;
}

/** `1 sample`, `1,234 samples`. */
export function counted(number: number, one: string, many = `${one}s`): string {
  return `${count(number)} ${number === 1 ? one : many}`;
}

function withInterval(of: Measured, units: Scale[]): string | null {
  const half = (of.high - of.low) / 2;
  if (!(half > 0)) return null;
  const [scale, unit] = scaleOf(Math.max(of.value, half), units, 1);
  const places = intervalPlaces(half / scale, scale === 1);
  const digits = (number: number) => rounded(number / scale, places);
  const [low, shown] = [digits(of.low), digits(half)];
  if (isZero(shown)) return null;
  if (of.low <= 0 || isZero(low)) return bound(of.high, units);
  if (of.high - of.value <= EVEN * (of.value - of.low)) return `${digits(of.value)} ± ${shown}${unit}`;
  return `${digits(of.value)} (${low}–${digits(of.high)})${unit}`;
}

function bound(high: number, units: Scale[]): string {
  const [scale, unit] = scaleOf(high, units, 1);
  const places = decimals(high / scale, 2);
  return `< ${rounded(high / scale, scale === 1 ? Math.min(places, 0) : places)}${unit}`;
}

function intervalPlaces(half: number, indivisible: boolean): number {
  const leading = half / 10 ** Math.floor(Math.log10(half));
  const places = decimals(half, leading < ONE_DIGIT_FROM ? 2 : 1);
  return indivisible ? Math.min(places, 0) : places;
}

/** The greatest unit of which `value` is at least `step`. */
function scaleOf(value: number, units: Scale[], step: number): Scale {
  for (let at = units.length - 1; at > 0; at -= 1) if (value >= units[at][0] * step) return units[at];
  return units[0];
}

/** Decimal places that leave so many significant digits; negative for tens and hundreds. */
export function decimals(value: number, significant: number): number {
  return value > 0 ? Math.min(significant - 1 - Math.floor(Math.log10(value)), 3) : 0;
}

/** With so many decimal places, and thousands separated. */
export function rounded(value: number, places: number): string {
  const step = 10 ** -Math.min(places, 0);
  const text = (places < 0 ? Math.round(value / step) * step : value).toFixed(Math.max(places, 0));
  const [whole, fraction] = text.split(".");
  const separated = whole.replace(/\B(?=(\d{3})+$)/g, ",");
  return fraction === undefined ? separated : `${separated}.${fraction}`;
}

function isZero(digits: string): boolean {
  return !/[1-9]/.test(digits);
}

function signed(value: number, write: (value: number) => string): string {
  if (!Number.isFinite(value)) return "unknown";
  return value < 0 ? `−${write(-value)}` : write(value);
}
