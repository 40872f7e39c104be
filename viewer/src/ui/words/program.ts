// What ran, and what its runtime counted itself: the words of the text report's head.

import type { Trace } from "../../engine/api";
import { bytes, count, counted, percent } from "../parts/format";
import { printable } from "../parts/names";
import { amountText } from "../parts/Number";
import { duration } from "../parts/spans";
import { tells } from "../told";
import { quantity } from "./documents";

/** Less than this share of what lives is not worth a word. */
const LEAST_YOUNG = 0.01;

/** What, where, when, and how it was sampled: names and texts. */
export function facts(trace: Trace): [string, string][] {
  const about = trace.documents.summary?.trace;
  const { facts } = trace;
  const told: [string, string | null | undefined | false][] = [
    ["Command", facts.command],
    ["Program", about?.executable ?? facts.program],
    ["Called itself", about?.title],
    ["Process", process(facts.pid, about?.host, about?.facts?.parent_pid)],
    ["From", started(trace)],
    ["For", tells(facts, "times") && duration(facts.duration)],
    ["Ended", ended(about?.facts?.exit)],
    ["Runtime", runtime(about)],
    ["Sampling", sampling(trace)],
    ["Labels", labels(facts.labels)],
    ["Trace", facts.file],
  ];
  return told.flatMap(([name, text]): [string, string][] => (text ? [[name, printable(text)]] : []));
}

/** Those of an import are told in words, as notes. */
function labels(all: Record<string, string>): string {
  const own = Object.entries(all).filter(([key]) => !/^import(\.|ed-)/.test(key));
  return own.map(([key, value]) => `${key}=${value}`).join(", ");
}

function process(pid: number | null, host: string | undefined, parent: number | null | undefined): string {
  if (!pid) return host ?? "";
  return `${pid}${host ? ` on ${host}` : ""}${parent ? `, child of ${parent}` : ""}`;
}

function started({ facts, documents }: Trace): string {
  const start = documents.summary?.trace?.start_time_us ?? facts.start_unix_us;
  const date = new Date((start ?? 0) / 1000);
  if (!start || Number.isNaN(date.getTime())) return "";
  return `${date.toISOString().replace("T", " ").slice(0, 19)} UTC`;
}

function ended(exit: any): string {
  switch (exit?.how) {
    case "status":
      return exit.code === 0 ? "" : `with status ${exit.code}`;
    case "signal":
      return `by signal ${exit.code}`;
    case "exec":
      return "by executing another program";
    default:
      return "";
  }
}

function runtime(about: any): string {
  const name = about?.facts?.runtime;
  const told = name && name !== "native" ? [name, about.facts.runtime_version] : [];
  return [...told, about?.runtime_parameters].filter(Boolean).join(", ");
}

/** How it was sampled. */
export function sampling({ facts, documents, sampleCount }: Trace): string {
  if (!tells(facts, "sampling")) return "how it was sampled is not told: amounts are those of the file";
  if (facts.in_import?.caveat) return "sums, not single allocations: amounts are those of the file";
  if (facts.exact && !tells(facts, "sizes")) return "sums of all allocations: they are exact";
  if (facts.exact) return "every allocation recorded: all numbers are exact";
  const about = documents.summary?.trace;
  const interval = about?.sample_interval_bytes || facts.interval_bytes;
  const promoted = about?.promotions ? `, ${count(about.promotions)} promoted` : "";
  const freed = about ? `, ${count(about.collections)} freed` : "";
  const every = interval > 0 ? `one sample every ${bytes(interval)} on average: ` : "";
  const many = facts.thinned?.of ?? sampleCount;
  if (!tells(facts, "times") || !tells(facts, "sizes")) return `${every}${count(many)} blocks were made from what the file tells`;
  return `${every}${counted(many, "allocation")} sampled${promoted}${freed}`;
}

/** What a managed runtime counted itself, exactly. */
export function exactly(trace: Trace): string | null {
  const about = trace.documents.summary?.trace?.facts;
  return heapWords(about?.heap, trace.facts.word_bytes) ?? rubyWords(about?.runtime_counts);
}

function heapWords(heap: any, wordBytes: number): string | null {
  if (heap?.minor_words == null) return null;
  if (heap.is_behind && heap.minor_collections === 0) return null;
  const words = (number: number) => bytes(number * wordBytes);
  const parts = [`${words(heap.minor_words)} allocated in the minor heap`];
  if (heap.promoted_words != null) {
    parts.push(`${words(heap.promoted_words)} promoted`);
    const direct = Math.max(0, (heap.major_words ?? 0) - heap.promoted_words);
    if (heap.major_words != null) parts.push(`${words(direct)} allocated in the major heap`);
  }
  const until = heap.is_behind ? " up to the last minor collection" : "";
  return heap.has_samplers_share
    ? `By the runtime's own count, in which its sampler's blocks for this recording are: ${parts.join(", ")}${until} (headers included).`
    : `Exactly ${parts.join(", ")}${until}, as the runtime counts (headers included).`;
}

function rubyWords(counts: any): string | null {
  const since = (name: string) => {
    const of = counts?.[name];
    return of?.first != null && of.last >= of.first ? count(of.last - of.first) : null;
  };
  const [allocated, freed] = [since("total_allocated_objects"), since("total_freed_objects")];
  if (allocated === null || freed === null) return null;
  const live = counts.heap_live_slots ? `; then there were ${count(counts.heap_live_slots.last)}` : "";
  return `Ruby's own GC.stat counted ${allocated} objects allocated and ${freed} freed between the first and the last time that it was asked${live}.`;
}

/** How much of what lives no collection has looked at. */
export function young(trace: Trace): string | null {
  const { gc, summary } = trace.documents;
  if (!gc || !summary) return null;
  const [live, young] = [quantity(summary.totals.live_at_end), quantity(gc.live_young)];
  const share = young.bytes.value / live.bytes.value;
  if (!(share >= LEAST_YOUNG)) return null;
  const room = trace.facts.young_heap_bytes;
  const upTo = room ? ` A young heap has room for up to ${bytes(room)}.` : "";
  return `Of what lives at the end, ${amountText(young, "bytes", trace.facts)} (${percent(share)}) is young: ${fate(summary.trace.facts)}.${upTo}`;
}

/** Of a runtime without a name nothing is known; a trace that tells of no process at all is Memtrace's. */
function fate(facts: any): string {
  const isOfProcess = facts?.arguments?.length > 0 || facts?.agent_version != null || facts?.process_start_time_us != null;
  const runtime = facts?.runtime ?? (isOfProcess ? "" : "ocaml");
  if (runtime === "ruby") return "it has not survived three collections yet, so some of it may be dead";
  if (runtime === "native" || runtime === "ocaml") return "no collection has met it, so much of it may be dead";
  return "no collection has promoted it, so some of it may be dead";
}
