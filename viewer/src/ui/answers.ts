// The answer of what the address asks. The last one that could be given stays while a filter is being mended.

import { useMemo, useRef } from "preact/hooks";
import type { Answer, Mistake, Question, Trace } from "../engine/api";

export interface Answered {
  answer: Answer | null;
  /** Why it is not the answer of what is asked. */
  mistake: Mistake | null;
}

export function isMistake(of: object): of is Mistake {
  return "message" in of && "start" in of;
}

/** Asks a trace; what the engine did not expect is a mistake too, with its words. */
export function asked(trace: Trace, question: Question): Answer | Mistake {
  try {
    return trace.ask(question);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return { message, start: 0, end: question.filter.length };
  }
}

/** The answer of a trace, or none where it could not be read. */
export function useAnswer(trace: Trace | null, question: Question): Answered {
  const last = useRef<{ trace: Trace; answer: Answer } | null>(null);
  const { filter, metric, hide, focus, collapseRecursion } = question;
  return useMemo(() => {
    if (!trace) return { answer: null, mistake: null };
    const answer = asked(trace, question);
    if (!isMistake(answer)) {
      last.current = { trace, answer };
      return { answer, mistake: null };
    }
    return { answer: last.current?.trace === trace ? last.current.answer : null, mistake: answer };
  }, [trace, filter, metric, JSON.stringify(hide), focus, collapseRecursion]);
}
