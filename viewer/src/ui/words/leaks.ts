// Whether the program leaks, in words: those of `lifetrace report --view leaks`.

import type { Quantity, Trace } from "../../engine/api";
import { bytes, perHour, percent } from "../parts/format";
import { briefSource, functionOf } from "../parts/names";
import { amountText } from "../parts/Number";
import { about, duration, lifetime, range } from "../parts/spans";
import { line, proportion, quantity } from "./documents";

const HOUR = 3600e6;
/** Kinds of callsites of which it matters how they grow. */
const GROWING = ["leak", "steps", "filling"];
/** A peak so late in the time of the trace may be the height of a growth that the exit ended. */
const LATE = 0.5;

/** Sentences; the first is the answer. */
export interface Verdict {
  isBad: boolean;
  first: string;
  rest: string[];
}

/** What the document of leaks comes to. */
export function verdict(trace: Trace): Verdict | null {
  const leaks = trace.documents.leaks;
  if (!leaks) return null;
  const beside = growsBeside(leaks);
  const said = sentences(trace, leaks);
  const [first, ...rest] = !beside ? said : isBesideSlower(leaks) ? [...said, beside] : [beside, ...said];
  const explained = resident(leaks.resident);
  return {
    isBad: leaks.verdict === "leaks" || beside !== null,
    first,
    rest: [...rest, ...(explained ? [explained] : [])],
  };
}

/** What grows faster comes first. */
function isBesideSlower({ resident, growth_together: together }: any): boolean {
  return resident.growth_beside.bytes_per_hour < (together?.bytes_per_hour ?? 0);
}

function sentences(trace: Trace, leaks: any): string[] {
  switch (leaks.verdict) {
    case "leaks":
      return growing(trace, leaks);
    case "grows-beside":
      return ["None of the callsites that were sampled grows like a leak.", ...beforeTheExit(leaks)];
    case "not-heard":
      return ["Whether the program leaks cannot be told: it has memory that was not heard.", ...beforeTheExit(leaks)];
    case "nothing-lives":
      return [`No leak can be seen: nothing is alive at the end (${nothing(trace)}).`, ...beforeTheExit(leaks)];
    case "too-short":
      return [tooShort(trace), ...beforeTheExit(leaks)];
    default:
      return [`No callsite grows like a leak.${steps(leaks)}`, ...beforeTheExit(leaks)];
  }
}

/** Of so many distances from hit to hit there may be without one, with 95 % confidence. */
const MISSED = 3;

/** What it means that no sample lives. */
function nothing({ facts, documents }: Trace): string {
  if (!facts.hears_all) return "none heard";
  if (facts.exact) return "0 B";
  const interval = documents.leaks.trace?.sample_interval_bytes || facts.interval_bytes;
  return interval > 0 ? `none sampled, < ${bytes(MISSED * interval)}` : "none sampled";
}

function tooShort({ facts }: Trace): string {
  return `Too short to tell: in ${duration(facts.duration)}, what leaks looks like what a program builds up as it begins. Record 10 s or more.`;
}

function growing(trace: Trace, leaks: any): string[] {
  const { growth_together: together, leaking_callsites: count, callsites, limit_bytes: limit } = leaks;
  const first = callsites.find((it: any) => it.kind === "leak");
  const who = first ? functionOf(line(first)) : "one callsite";
  const rate = together ? rateText(together) : "an unknown rate";
  const part = share(first?.growth?.bytes_per_hour, together?.bytes_per_hour);
  const answer =
    count === 1
      ? `Live memory grows by ${rate}: ${who} grows like a leak.`
      : `Live memory of ${count} callsites grows by ${rate}${part ? `; ${part} of it from ${who}` : ""}.`;
  const live = amountText(quantity(leaks.totals.live_at_end), "bytes", trace.facts);
  const full = leaks.limit_reached;
  if (full?.hours === 0) return [answer, `What lives at the end, ${live}, is more than ${bytes(limit)}.`];
  const when = fill(full);
  return when ? [answer, `With the ${live} that live at the end, that would fill ${bytes(limit)} ${when}.`] : [answer];
}

function share(part: number | undefined, all: number | undefined): string {
  return part && all && all > 0 && part > 0 ? percent(Math.min(1, part / all)) : "";
}

function steps(leaks: any): string {
  const count = leaks.callsites.filter((it: any) => it.kind === "steps").length;
  if (count === 0) return "";
  return count === 1 ? " 1 callsite grows by steps." : ` ${count} callsites grow by steps.`;
}

/** Many programs free all that they have as they exit. */
function beforeTheExit({ totals, trace }: any): string[] {
  const [peak, live] = [quantity(totals.peak), quantity(totals.live_at_end)];
  const at = totals.peak.time_us;
  if (at === null || at < LATE * trace.duration_us || live.bytes.value >= peak.bytes.value / 2) return [];
  return [
    `Most of the ${amountText(peak)} that lived ${duration(at)} after the start was freed by the end. If that was because the program exits, look at the time before: lifetrace slice --time 0s-${(at * 1e-6).toFixed(3)}s`,
  ];
}

function growsBeside({ resident }: any): string | null {
  const growth = resident?.growth_beside;
  if (!growth) return null;
  return `The process grows beside what was sampled: by ${bytes(growth.bytes)} since ${duration(growth.since_us)} after the start, which is ${bytes(growth.bytes_per_hour)}/h.`;
}

/** How much of the process's memory is explained. */
export function resident(of: any): string | null {
  if (!of) return null;
  const lives = bytes(of.live_bytes);
  const at = `Resident at the end: ${bytes(of.bytes)}`;
  if (of.live_share > 1.05) return `${at}, ${lives} lives, and is not resident in part: never written to, or swapped out.`;
  if (of.live_share > 1) return `${at}, ${lives} lives, which is about all of it.`;
  return `${at}, of which ${lives} (${percent(of.live_share)}) lives.`;
}

/** `8.2 ± 0.9 MiB/h` */
export function rateText(rate: any): string {
  const { bytes_per_hour: value, bytes_per_hour_low95: low, bytes_per_hour_high95: high } = rate;
  return perHour(value, low ?? -Infinity, high ?? Infinity);
}

/** `in 18 h (16–21 h)`, or null if never. */
export function fill(full: any): string | null {
  if (full?.hours == null) return null;
  const span = (hours: number | null) => (hours === null ? null : about(hours * HOUR));
  const when = about(full.hours * HOUR);
  const [low, high] = [full.hours_low95, full.hours_high95].map(span);
  if (low !== null && high !== null) return low === when && high === when ? `in ${when}` : `in ${when} (${range(low, high)})`;
  return low !== null ? `in ${when} (${low} at the earliest, perhaps never)` : `in ${when}`;
}

/** How a callsite's memory goes on, in two words. */
export function pace(callsite: any, verdict: string): string {
  if (!callsite.growth) return "all new";
  if (verdict === "too-short") return "?";
  if (callsite.kind === "unknown" && callsite.growth.bytes_per_hour_low95 > 0) return "up and down";
  const text = rateText(callsite.growth);
  return /^\d/.test(text) && callsite.growth.bytes_per_hour > 0 ? `+${text}` : text;
}

/** Why a callsite is of its kind. */
export function evidence(callsite: any, limit: number): string[] {
  const { evidence: of } = callsite;
  const said: (string | null)[] = [
    `The oldest block lives for ${about(callsite.oldest_us)}.`,
    past(callsite),
    of && `${percent(of.from_start)} of what lives was born in the first tenth of the trace.`,
    of && GROWING.includes(callsite.kind) ? stepped(of) : null,
    callsite.kind === "leak" ? alone(callsite.limit_reached, limit) : null,
  ];
  return said.filter((text): text is string => text !== null);
}

function past({ freed, never_freed: never }: any): string {
  if (!freed) return "Nothing of what it allocated was ever freed.";
  const { share, share_low95: low, share_high95: high } = freed.alive_and_older;
  const neverFreed = proportion(never.share, never.share_low95, never.share_high95);
  return `${neverFreed} of the bytes it allocated were never freed; what it freed lived ${lifetime(freed.lifetime99_us)} at most (99 %), and ${proportion(share, low, high)} of what lives is older.`;
}

function stepped(of: any): string {
  const falls = of.largest_fall !== null && of.largest_fall >= 0.005;
  const fall = falls ? `its deepest fall is ${percent(of.largest_fall)} of that` : "it never falls";
  return `Of its growth in the later half, the largest of sixteen steps has ${percent(of.largest_step)}; ${fall}.`;
}

function alone(full: any, limit: number): string | null {
  if (full?.hours === 0) return `Alone it is more than ${bytes(limit)}.`;
  const when = fill(full);
  return when && `Alone it would fill ${bytes(limit)} ${when}.`;
}

/** What a look through the process's memory found; as the summary says it only where something is lost. */
export function lost(trace: Trace): { isAny: boolean; text: string; summary: string } | null {
  const found = trace.documents.leaks?.lost ?? trace.documents.summary?.lost;
  if (!found) return null;
  const look = `${bytes(found.bytes_read)} of memory were looked through, for ${duration(found.stopped_us)}`;
  const all = quantity(found.lost);
  if (all.samples === 0) return { isAny: false, text: `Nothing is lost: something points to each block (${look}).`, summary: "" };
  const amount = amountText(all, "bytes", trace.facts);
  const share = proportion(found.share, found.share_low95, found.share_high95);
  const text = `${amount} are lost, ${share} of what lives: nothing points to it any more (${look}).`;
  return { isAny: true, text, summary: `Lost: ${amount}, ${loser(found.callsites[0], all)}: nothing points to it any more.` };
}

function loser(first: any, all: Quantity): string {
  const source = briefSource(line(first));
  const part = percent(quantity(first.lost).bytes.value / all.bytes.value);
  return `${part} of it from ${functionOf(line(first))}${source ? ` (${source})` : ""}`;
}
