// The four questions about a range of time, each with its answer; a click asks it of all views.

import { useEffect, useRef, useState } from "preact/hooks";
import type { Answer } from "../../../engine/api";
import { asked, isMistake } from "../../answers";
import type { Range } from "../../chart/TimeChart";
import { termsOf, withTime } from "../../filterText";
import { amountText } from "../../parts/Number";
import { duration, filterSpan } from "../../parts/spans";
import type { ViewProps } from "../../view";

interface RangeProps extends Omit<ViewProps, "choose"> {
  span: Range;
  range: Range | null;
  choose(range: Range | null): void;
}

interface Choice {
  title: string;
  term: string;
}

export function RangeQuestions(props: RangeProps) {
  const { engine, range, answer, ask, choose, span } = props;
  const choices = range ? questions(range) : [];
  const terms = termsOf(engine, answer.question.filter);
  const amounts = useAmounts(props, choices);
  return (
    <section class="range" aria-label="Range of time">
      <Ends span={span} range={range} choose={choose} />
      {range ? (
        <div class="range-choices" role="group" aria-label="Questions about the range">
          {choices.map(({ title, term }, at) => (
            <button type="button" key={title} title={term} onClick={() => ask({ filter: withTime(terms, term) })}>
              <span class="title">{title}</span>
              <span class="amount">{amounts[at] ?? "…"}</span>
            </button>
          ))}
          <button type="button" class="quiet" onClick={() => choose(null)}>
            No range
          </button>
        </div>
      ) : (
        <p class="muted">Drag over the chart to choose a range of time, or type its ends.</p>
      )}
    </section>
  );
}

function questions({ begin, end }: Range): Choice[] {
  const [from, to] = [begin, end].map(filterSpan);
  return [
    { title: "Allocated in it", term: `allocated ${from}..${to}` },
    { title: "Live at its end", term: `alive at ${to}` },
    { title: "Allocated in it, still live at its end", term: `allocated ${from}..${to} alive at ${to}` },
    { title: "Died in it", term: `freed ${from}..${to}` },
  ];
}

/** The answers come one after another, so that the page stays alive with a great trace. */
function useAmounts({ engine, trace, answer }: RangeProps, choices: Choice[]): (string | undefined)[] {
  const [amounts, setAmounts] = useState<(string | undefined)[]>([]);
  const key = choices.map(({ term }) => term).join("\n");
  useEffect(() => {
    setAmounts([]);
    const terms = termsOf(engine, answer.question.filter);
    let timer = 0;
    const next = (at: number) => {
      if (at >= choices.length) return;
      const text = amount(asked(trace, { ...answer.question, filter: withTime(terms, choices[at].term) }), trace);
      setAmounts((before) => Object.assign([...before], { [at]: text }));
      timer = window.setTimeout(() => next(at + 1));
    };
    timer = window.setTimeout(() => next(0), 60);
    return () => clearTimeout(timer);
  }, [trace, answer, key]);
  return amounts;
}

function amount(of: Answer | object, trace: RangeProps["trace"]): string {
  return isMistake(of) ? "" : amountText((of as Answer).totals.allocated, "bytes", trace.facts);
}

/** The ends as text, for the keyboard and for what a pointer is too coarse for. */
function Ends({ span, range, choose }: { span: Range; range: Range | null; choose(range: Range | null): void }) {
  const shown = range ?? span;
  // An end beyond the other one takes that along.
  const from = (begin: number) => begin < span.end && choose({ begin, end: begin < shown.end ? shown.end : span.end });
  const to = (end: number) => end > span.begin && choose({ begin: shown.begin < end ? shown.begin : span.begin, end: Math.min(end, span.end) });
  return (
    <div class="ends">
      <Moment label="From" value={shown.begin} set={from} />
      <Moment label="to" value={shown.end} set={to} />
      <span class="muted">{range ? `${duration(range.end - range.begin)} long` : ""}</span>
    </div>
  );
}

function Moment({ label, value, set }: { label: string; value: number; set(value: number): void }) {
  const text = `${Number((value * 1e-6).toFixed(6))}`;
  const [draft, setDraft] = useState(text);
  // What is being typed is not written over.
  const isTyping = useRef(false);
  useEffect(() => {
    if (!isTyping.current) setDraft(text);
  }, [text]);
  const done = () => {
    isTyping.current = false;
    const seconds = Number(draft);
    if (draft.trim() && seconds >= 0) set(Math.round(seconds * 1e6));
    else setDraft(text);
  };
  return (
    <span class="moment">
      <label class="label" for={`moment-${label}`}>
        {label}
      </label>
      <input
        id={`moment-${label}`}
        type="text"
        inputMode="decimal"
        value={draft}
        onInput={(event) => ((isTyping.current = true), setDraft(event.currentTarget.value))}
        onKeyDown={(event) => event.key === "Enter" && done()}
        onBlur={() => draft !== text && done()}
      />
      <span class="muted">s</span>
    </span>
  );
}
