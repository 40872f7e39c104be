// One line beneath the question: how much was chosen, and of what time. Screen readers hear it when it changes.

import type { Answer, Engine, Mistake, Trace } from "../engine/api";
import { bytes, count } from "./parts/format";
import { amountText } from "./parts/Number";
import { duration } from "./parts/spans";
import { isOfTime, termsOf } from "./filterText";
import { tells } from "./told";

interface StatusProps {
  engine: Engine;
  trace: Trace;
  answer: Answer | null;
  mistake: Mistake | null;
}

export function Status({ engine, trace, answer, mistake }: StatusProps) {
  const { facts } = trace;
  return (
    <div class="status" role="status" aria-live="polite">
      {!answer || mistake ? <span class="stale">The filter cannot be read{answer ? ": what is shown is of the one before" : ""}.</span> : <Chosen engine={engine} trace={trace} answer={answer} />}
      {facts.thinned && (
        <span class="warn" title="The page has some of the samples only: its estimates are right, and their intervals wider than those of lifetrace report.">
          thinned: {count(facts.thinned.kept)} of {count(facts.thinned.of)} samples
        </span>
      )}
      <span>{sampling(trace)}</span>
    </div>
  );
}

function Chosen({ engine, trace, answer }: { engine: Engine; trace: Trace; answer: Answer }) {
  const { totals } = answer;
  const { facts } = trace;
  const times = termsOf(engine, answer.question.filter).filter(isOfTime);
  const chosen = answer.canonical === null ? count(answer.samples) : `${count(answer.samples)} of ${count(trace.sampleCount)}`;
  return (
    <>
      <strong>{chosen} samples</strong>
      {tells(facts, "allocated") && <span>allocated {amountText(totals.allocated, "bytes", facts)}</span>}
      {tells(facts, "peak") && <span>peak {amountText(totals.peak, "bytes", facts)}</span>}
      {tells(facts, "live") && <span>live at end {amountText(totals.live, "bytes", facts)}</span>}
      {tells(facts, "times") && <span>{times.length ? times.join(", ") : `${duration(facts.duration)} in all`}</span>}
    </>
  );
}

function sampling({ facts }: Trace): string {
  if (facts.in_import?.caveat || !tells(facts, "sampling")) return "imported";
  if (facts.exact) return "every allocation recorded: exact";
  if (facts.interval_bytes > 0) return `a sample every ${bytes(facts.interval_bytes)}; 95 % intervals`;
  return "sampled; 95 % intervals";
}
