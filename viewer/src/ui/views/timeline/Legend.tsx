// Who is drawn in which colour, and how much they have where the pointer is.

import type { Trace } from "../../../engine/api";
import { contributor, ofOthers, type Theme } from "../../chart/colours";
import { measuredAt, type Stack } from "../../chart/stack";
import { bytes, estimate } from "../../parts/format";
import { Location } from "../../parts/Location";
import { callsiteTerm } from "../../parts/names";
import { Estimate } from "../../parts/Number";
import { duration } from "../../parts/spans";

interface LegendProps {
  stack: Stack;
  cursor: number | null;
  behind: boolean;
  theme: Theme;
  trace: Trace;
  highlight(layer: number | null): void;
  narrow(term: string): void;
}

export function Legend({ stack, cursor, behind, theme, trace, highlight, narrow }: LegendProps) {
  const at = cursor ?? stack.seconds.length - 1;
  const when = cursor === null ? "at the end" : `at ${duration(stack.seconds[at] * 1e6)}`;
  const lines = [
    ["the most between two steps", stack.most, "thin"],
    ["resident memory", behind ? stack.resident : null, "dashed"],
    ["heap from the system", behind ? stack.heap : null, "dotted"],
  ] as const;
  return (
    <section class="contributors" aria-label="Contributors">
      <p class="when">
        <strong>{stack.total[at] && estimate(stack.total[at], "bytes")}</strong> live {when}
      </p>
      <ul onMouseLeave={() => highlight(null)}>
        {stack.layers.map((of, layer) => {
          const { line, callsite } = of;
          const term = callsite === null ? null : callsiteTerm(line);
          return (
            <li key={callsite ?? "others"} onMouseEnter={() => highlight(layer)} onFocusCapture={() => highlight(layer)} onBlurCapture={() => highlight(null)}>
              <span class="ink" style={{ background: callsite === null ? ofOthers(theme) : contributor(layer, theme) }} />
              <Estimate of={measuredAt(of, at)} unit="bytes" />
              {callsite === null ? <span class="muted">all others</span> : <Location line={line} onPick={term === null ? undefined : () => narrow(term)} />}
            </li>
          );
        })}
        {lines.map(([name, values, kind]) =>
          values ? (
            <li key={name}>
              <span class={`ink ${kind}`} />
              <span class="number">{values[at] == null ? "?" : bytes(values[at]!)}</span>
              <span class="muted">{name}</span>
            </li>
          ) : null,
        )}
        {trace.cycles.generation.length > 0 && (
          <li>
            <span class="ink ticks" />
            <span class="number" />
            <span class="muted">garbage collections: short ticks minor, longer ones major and compactions</span>
          </li>
        )}
      </ul>
    </section>
  );
}
