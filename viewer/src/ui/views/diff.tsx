// What changed between two traces, or between two parts of one.

import { useMemo, useState } from "preact/hooks";
import type { Trace } from "../../engine/api";
import { ChangeFlame } from "../diff/ChangeFlame";
import { Places, Totals } from "../diff/Changes";
import { ask, keep, sideOf, type Side, type SideName } from "../diff/sides";
import { counted, measure } from "../parts/format";
import { brief } from "../parts/names";
import { tells, tellsMetric } from "../told";
import type { View, ViewProps } from "../view";

function DiffView(props: ViewProps) {
  const { engine, traces, current, answer, state, setState } = props;
  const { question } = answer;
  const hasTimes = tells(props.trace.facts, "times");
  const a = sideOf("a", state, traces.length, current, hasTimes);
  const b = sideOf("b", state, traces.length, current, hasTimes);
  const before = useMemo(() => ask(traces, question, a), [traces, question, a.trace, a.filter]);
  const after = useMemo(() => ask(traces, question, b), [traces, question, b.trace, b.filter]);
  const difference = useMemo(
    () => ("answer" in before && "answer" in after ? engine.compare([before.answer], [after.answer]) : null),
    [engine, before, after],
  );
  const set = (name: SideName) => (side: Side) => setState(keep(name, side));
  const swap = () => setState({ ...keep("a", b), ...keep("b", a) });
  return (
    <section class="views">
      <div class="sides">
        <SideField name="Before" side={a} traces={traces} mistake={"mistake" in before ? before.mistake : ""} onSide={set("a")} />
        <SideField name="After" side={b} traces={traces} mistake={"mistake" in after ? after.mistake : ""} onSide={set("b")} />
        <button type="button" class="quiet" onClick={swap}>
          Swap
        </button>
      </div>
      {"answer" in before && "answer" in after && (
        <p class="lead">
          {counted(before.answer.samples, "sample")} before, {counted(after.answer.samples, "sample")} after
          {question.filter !== "" && <>; both chosen by the page's filter as well</>}
        </p>
      )}
      {difference && (
        <>
          <Totals totals={difference.totals} isTold={(metric) => [a, b].every(({ trace }) => tellsMetric(traces[trace].facts, metric))} />
          <h2>Changes of {measure(difference.metric)}</h2>
          <Places
            difference={difference}
            by={state.by === "function" ? "function" : "callsite"}
            onBy={(by) => setState({ by: by === "callsite" ? "" : by, sort: "" })}
            sort={state.sort ?? ""}
            onSort={(sort) => setState({ sort })}
            onPick={(fn) => props.go("sandwich", { fn })}
          />
          <ChangeFlame {...props} difference={difference} />
          <Foot a={a} b={b} />
        </>
      )}
    </section>
  );
}

function SideField(props: { name: string; side: Side; traces: Trace[]; mistake: string; onSide(side: Side): void }) {
  const { name, side, traces, mistake, onSide } = props;
  const [typed, setTyped] = useState<string | null>(null);
  const enter = () => {
    if (typed !== null && typed !== side.filter) onSide({ ...side, filter: typed.trim() });
    setTyped(null);
  };
  const id = `mistake-${name}`;
  return (
    <fieldset class="side">
      <legend>{name}</legend>
      {traces.length > 1 && (
        <select aria-label={`Trace: ${name}`} value={String(side.trace)} onChange={(event) => onSide({ ...side, trace: Number(event.currentTarget.value) })}>
          {traces.map((trace, at) => (
            <option key={at} value={String(at)}>
              {brief(trace.facts.file, 60)}
              {trace.facts.pid === null ? "" : `, pid ${trace.facts.pid}`}
            </option>
          ))}
        </select>
      )}
      <input
        type="text"
        spellcheck={false}
        aria-label={`Filter: ${name}`}
        aria-invalid={mistake !== ""}
        aria-describedby={mistake ? id : undefined}
        placeholder="everything; or a filter: allocated before peak"
        value={typed ?? side.filter}
        onInput={(event) => setTyped(event.currentTarget.value)}
        onBlur={enter}
        onKeyDown={(event) => event.key === "Enter" && enter()}
      />
      {mistake && (
        <p class="mistake" id={id} role="alert">
          {mistake}
        </p>
      )}
    </fieldset>
  );
}

function Foot(props: { a: Side; b: Side }) {
  const parts = props.a.trace === props.b.trace;
  return (
    <p class="note">
      ± is the 95 % confidence interval. Significant: at most 5 % of what is called so is noise, on average.{" "}
      {parts
        ? "Both sides are parts of one trace: where they have blocks in common, a change is surer than this says."
        : "With one run a side, noise is that of sampling only: how much runs differ by themselves is not known."}
    </p>
  );
}

export const view: View = { id: "diff", title: "Diff", key: "9", isFor: () => true, component: DiffView };
