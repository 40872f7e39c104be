// Spans of time for people and for filters; all are microseconds.

import { decimals, rounded } from "./format";

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const YEAR = 365.25 * DAY;

/** Seconds of each unit, and from how many seconds on it is used. */
const UNITS: [number, number, string][] = [
  [YEAR, 2 * YEAR, " years"],
  [DAY, 2 * DAY, " days"],
  [HOUR, HOUR, " h"],
  [MINUTE, 2 * MINUTE, " min"],
  [1, 1, " s"],
  [1e-3, 1e-3, " ms"],
  [1e-6, 0, " µs"],
];

/** About so long, two digits: `120 µs`, `3.2 ms`, `45 s`, `12 min`. */
export function about(micros: number): string {
  const seconds = micros * 1e-6;
  if (!Number.isFinite(seconds)) return "for ever";
  const [scale, , name] = UNITS.find(([, from]) => seconds >= 0.995 * from) ?? UNITS[UNITS.length - 1];
  const scaled = seconds / scale;
  const places = scaled >= 100 ? -1 : Math.max(decimals(Math.max(scaled, 1), 2), 0);
  return rounded(scaled, scale === 1e-6 ? Math.min(places, 0) : places) + name;
}

/** A lifetime; what is shorter than the clock's ticks is no false 0. */
export function lifetime(micros: number): string {
  return micros < 1 ? "< 1 µs" : about(micros);
}

/** A quantile of lifetimes with its interval: `120 µs (100–150 µs)`. */
export function quantile(of: { value: number | null; low: number | null; high: number | null }): string {
  const [value, low, high] = [of.value, of.low, of.high].map((end) => (end === null ? null : lifetime(end)));
  if (value === null) return low === null ? "not known" : `${low} or more`;
  if (low !== null && high !== null) return low === value && high === value ? value : `${value} (${range(low, high)})`;
  if (low !== null) return `${value} (${low} or more)`;
  return high !== null ? `${value} (${high} or less)` : `perhaps ${value}`;
}

/** `18–22 days`, `90 min – 3.1 h`. */
export function range(low: string, high: string): string {
  const [digits, unit] = split(low);
  return unit !== "" && unit === split(high)[1] ? `${digits}–${high}` : `${low} – ${high}`;
}

/** A span of time with the precision of a report: `812 ms`, `3.21 s`, `2 min 3 s`, `26 h 4 min`. */
export function duration(micros: number): string {
  const seconds = Math.floor(micros * 1e-6);
  if (seconds < 1) return `${rounded(micros * 1e-3, decimals(micros * 1e-3, 3))} ms`;
  if (seconds < 60) return `${(micros * 1e-6).toFixed(2)} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
}

const FILTER_UNITS: [number, string][] = [
  [86_400e6, "d"],
  [3600e6, "h"],
  [60e6, "min"],
  [1e6, "s"],
  [1e3, "ms"],
  [1, "us"],
];

/** A span as filters have it, in the greatest unit that leaves a whole number. */
export function filterSpan(micros: number): string {
  const whole = Math.max(0, Math.round(micros));
  if (whole === 0) return "0us";
  const [scale, unit] = FILTER_UNITS.find(([scale]) => whole % scale === 0) ?? [1, "us"];
  return `${whole / scale}${unit}`;
}

const FILTER_SIZES: [number, string][] = [
  [2 ** 40, "TiB"],
  [2 ** 30, "GiB"],
  [2 ** 20, "MiB"],
  [2 ** 10, "KiB"],
];

/** A size as filters have it. */
export function filterSize(size: number): string {
  const whole = Math.max(0, Math.round(size));
  const [scale, unit] = (whole > 0 && FILTER_SIZES.find(([scale]) => whole % scale === 0)) || [1, "B"];
  return `${whole / scale}${unit}`;
}

function split(text: string): [string, string] {
  const at = text.indexOf(" ");
  return at < 0 ? [text, ""] : [text.slice(0, at), text.slice(at + 1)];
}
