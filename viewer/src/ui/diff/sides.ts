// The two sides of a comparison, as the address keeps them.

import type { Answer, Question, Trace } from "../../engine/api";

export interface Side {
  trace: number;
  /** Besides the page's filter. */
  filter: string;
}

export type SideName = "a" | "b";

/** Two traces, or the two halves of the only one, if it tells times. */
export function sideOf(name: SideName, state: Record<string, string>, traces: number, current: number, hasTimes = true): Side {
  const trace = Number(state[`${name}t`]);
  const known = state[`${name}t`] !== undefined && Number.isInteger(trace) && trace >= 0 && trace < traces;
  const usual = traces > 1 ? (name === "a" ? 0 : 1) : current;
  const half = name === "a" ? "allocated before 50%" : "allocated after 50%";
  const filter = state[name] ?? (traces > 1 || !hasTimes ? "" : half);
  return { trace: known ? trace : usual, filter: filter === EVERYTHING ? "" : filter };
}

/** How an address says that a side has no filter, where it would have one. */
const EVERYTHING = "*";

/** The change of the address that keeps a side. */
export function keep(name: SideName, side: Side): Record<string, string> {
  return { [name]: side.filter || EVERYTHING, [`${name}t`]: String(side.trace) };
}

/** The page's question with a side's filter besides. */
export function questionOf(question: Question, side: Side): Question {
  const filter = [question.filter, side.filter].filter((part) => part.trim() !== "").join(" ");
  return { ...question, filter };
}

export type Asked = { answer: Answer } | { mistake: string };

export function ask(traces: Trace[], question: Question, side: Side): Asked {
  const answer = traces[side.trace].ask(questionOf(question, side));
  return "message" in answer ? { mistake: answer.message } : { answer };
}
