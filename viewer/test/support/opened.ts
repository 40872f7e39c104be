// Made-up traces as the engine has them.

import assert from "node:assert/strict";
import { engine } from "../../src/engine";
import type { Question } from "../../src/engine/api";
import type { Answer } from "../../src/engine/answer";
import type { Trace } from "../../src/engine/trace";
import { bundleOf, type MadeTrace } from "./bundle";

export const PLAIN: Question = { filter: "", metric: "allocated", hide: [], focus: "", collapseRecursion: false };

export function opened(made: MadeTrace): Trace {
  return engine.open(bundleOf(made)) as Trace;
}

export function asked(trace: Trace, question: Partial<Question>): Answer {
  const answer = trace.ask({ ...PLAIN, ...question });
  assert.ok(!("message" in answer), JSON.stringify(question));
  return answer;
}

/** By sample: 1 if the filter chooses it. */
export function chosen(trace: Trace, filter: string): Uint8Array {
  return asked(trace, { filter }).lives.chosen;
}
