// Memory over time: who has it, beside what the process has; and what is to be asked of a range of it.

import { useMemo, useState } from "preact/hooks";
import { TimeChart, type Range } from "../chart/TimeChart";
import { stacked, type Stack } from "../chart/stack";
import { secondsLabel } from "../chart/axes";
import { amountText } from "../parts/Number";
import type { View, ViewProps } from "../view";
import { Legend } from "./timeline/Legend";
import { RangeQuestions } from "./timeline/RangeQuestions";
import { OverTime } from "./timeline/OverTime";

const PARTS = 300;
const CONTRIBUTORS = 8;
/** Resident memory that is so many times what lives would leave nothing to be seen of that. */
const MUCH_MORE = 6;

function TimelineView(props: ViewProps) {
  const { trace, answer, state, setState, theme } = props;
  const { end } = trace.facts;
  const span = readRange(state.span, end) ?? { begin: 0, end };
  const range = readRange(state.range, end);
  const timeline = useMemo(() => answer.timeline(PARTS, CONTRIBUTORS, span.begin, span.end), [answer, span.begin, span.end]);
  const stack = useMemo(() => stacked(timeline, trace), [timeline, trace]);
  const [cursor, setCursor] = useState<number | null>(null);
  const [highlighted, setHighlighted] = useState<number | null>(null);
  const behind = state.memory ? state.memory === "shown" : isInReach(stack);
  const choose = (chosen: Range | null) => setState({ range: chosen ? writeRange(chosen) : "" });
  const isZoomed = state.span !== undefined;
  return (
    <div class="timeline">
      <div class="bar-of-tools">
        <h2>Live bytes over time</h2>
        {(stack.resident || stack.heap) && (
          <label class="tick">
            <input type="checkbox" checked={behind} onChange={() => setState({ memory: behind ? "hidden" : "shown" })} />
            the process's memory
          </label>
        )}
        {range && (
          <button type="button" onClick={() => setState({ span: writeRange(range), range: "" })}>
            Zoom to the range
          </button>
        )}
        {isZoomed && (
          <button type="button" onClick={() => setState({ span: "" })}>
            All of the time
          </button>
        )}
      </div>
      <TimeChart
        trace={trace}
        stack={stack}
        span={span}
        range={range}
        peak={trace.facts.peak === null ? null : { time: trace.facts.peak, label: peakLabel(props) }}
        behind={behind}
        highlighted={highlighted}
        theme={theme}
        onRange={choose}
        onCursor={setCursor}
      />
      <RangeQuestions {...props} span={span} range={range} choose={choose} />
      <Legend stack={stack} cursor={cursor} behind={behind} theme={theme} trace={trace} highlight={setHighlighted} narrow={props.narrow} />
      <OverTime timeline={timeline} stack={stack} trace={trace} label={(micros) => secondsLabel(micros * 1e-6)} />
    </div>
  );
}

/** The moment is that of the whole program, so the amount is told only where all blocks are looked at. */
function peakLabel({ trace, answer }: ViewProps): string {
  return answer.canonical === null ? `peak ${amountText(answer.totals.peak, "bytes", trace.facts)}` : "peak of all";
}

/** Whether the process's memory can be drawn beside what lives. */
function isInReach({ resident, heap, total }: Stack): boolean {
  const most = (values: (number | null)[]) => values.reduce<number>((most, value) => Math.max(most, value ?? 0), 0);
  return most([...(resident ?? []), ...(heap ?? [])]) <= MUCH_MORE * most(total.map(({ value }) => value));
}

/** `1000..2000`, in microseconds. */
export function readRange(text: string | undefined, most: number): Range | null {
  const found = /^(\d{1,16})\.\.(\d{1,16})$/.exec(text ?? "");
  if (!found) return null;
  const [begin, end] = [Number(found[1]), Math.min(Number(found[2]), most)];
  return begin < end ? { begin, end } : null;
}

function writeRange({ begin, end }: Range): string {
  return `${Math.round(begin)}..${Math.round(end)}`;
}

export const view: View = {
  id: "timeline",
  title: "Over time",
  key: "2",
  isFor: ({ facts, sampleCount }) => sampleCount > 0 && facts.end > 0,
  component: (props) => <TimelineView {...props} />,
};
