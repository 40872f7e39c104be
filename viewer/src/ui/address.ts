// All that the page shows is in the fragment of its address, percent-encoded as docs/filters.md has it.

import type { Metric, Question } from "../engine/api";
import type { PageOptions } from "../page";

/** What an address says. */
export interface Address {
  view: string;
  /** Which trace is looked at, from 0. */
  trace: number;
  question: Question;
  /** What the view keeps of itself. */
  state: Record<string, string>;
}

export const METRICS: { id: Metric; title: string }[] = [
  { id: "allocated", title: "Bytes allocated" },
  { id: "live", title: "Bytes live at the end" },
  { id: "peak", title: "Bytes live at the peak" },
  { id: "objects", title: "Objects allocated" },
  { id: "byte-seconds", title: "Bytes × seconds lived" },
];

/** What a page without an address shows: what its maker asked for. */
export function first(options: PageOptions): Address {
  return {
    view: options.view || "summary",
    trace: 0,
    question: {
      filter: options.filter ?? "",
      metric: metric(options.metric ?? ""),
      hide: options.hide ?? [],
      focus: options.focus ?? "",
      collapseRecursion: options.collapse_recursion ?? false,
    },
    state: {},
  };
}

/** Reads a fragment, with or without its `#`; an empty one is what the page begins with. */
export function read(fragment: string, beginning: Address): Address {
  const text = fragment.replace(/^#/, "");
  if (!text) return beginning;
  const question: Question = { filter: "", metric: "allocated", hide: [], focus: "", collapseRecursion: false };
  const address: Address = { view: "summary", trace: 0, question, state: {} };
  for (const part of text.split("&")) {
    const at = part.indexOf("=");
    const key = decoded(at < 0 ? part : part.slice(0, at));
    const value = at < 0 ? "" : decoded(part.slice(at + 1));
    take(address, key, value);
  }
  return address;
}

function take(address: Address, key: string, value: string): void {
  const { question } = address;
  switch (key) {
    case "":
      return;
    case "view":
      address.view = value || "summary";
      return;
    case "trace":
      address.trace = /^\d{1,6}$/.test(value) ? Number(value) : 0;
      return;
    case "filter":
      question.filter = value;
      return;
    case "metric":
      question.metric = metric(value);
      return;
    case "hide":
      if (value) question.hide.push(value);
      return;
    case "focus":
      question.focus = value;
      return;
    case "collapse-recursion":
      question.collapseRecursion = true;
      return;
    default:
      if (value) address.state[key] = value;
  }
}

/** The fragment of an address, without `#`. */
export function write({ view, trace, question, state }: Address): string {
  const parts = [`view=${encoded(view)}`];
  const add = (key: string, value: string) => value && parts.push(`${encoded(key)}=${encoded(value)}`);
  if (trace) add("trace", String(trace));
  add("filter", question.filter);
  if (question.metric !== "allocated") add("metric", question.metric);
  question.hide.forEach((frame) => add("hide", frame));
  add("focus", question.focus);
  if (question.collapseRecursion) parts.push("collapse-recursion");
  Object.keys(state)
    .sort()
    .forEach((key) => add(key, state[key]));
  return parts.join("&");
}

function metric(text: string): Metric {
  return METRICS.find(({ id }) => id === text)?.id ?? "allocated";
}

/** Half a character has no UTF-8. */
const HALF = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

/** What is no text at all, such as half a character, is taken as it is written. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function encoded(text: string): string {
  return encodeURIComponent(text.replace(HALF, "\ufffd")).replace(/'/g, "%27");
}
