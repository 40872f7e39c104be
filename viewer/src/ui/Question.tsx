// The question: which blocks, which frames, and what is counted.

import type { Engine, Metric, Mistake, Trace } from "../engine/api";
import { METRICS } from "./address";
import { FilterField } from "./FilterField";
import { Frames } from "./Frames";
import type { Navigation } from "./navigation";
import { Presets } from "./Presets";
import { tellsMetric, toldMetric } from "./told";

interface QuestionProps {
  engine: Engine;
  trace: Trace;
  navigation: Navigation;
  mistake: Mistake | null;
}

export function Question({ engine, trace, navigation, mistake }: QuestionProps) {
  const { question } = navigation.address;
  const ofFrames = engine.parseFrames(question.hide, question.focus);
  return (
    <section class="question" aria-label="Question">
      <FilterField
        filter={question.filter}
        mistake={ofFrames ? null : mistake}
        parse={(text) => engine.parse(text)}
        ask={(filter, replace) => navigation.ask({ filter }, replace)}
      />
      <label class="metric">
        <span class="label">Metric</span>
        <select
          value={toldMetric(trace.facts, question.metric)}
          onChange={(event) => navigation.ask({ metric: event.currentTarget.value as Metric })}
        >
          {METRICS.map(({ id, title }) => (
            <option key={id} value={id} disabled={!tellsMetric(trace.facts, id)}>
              {title}
            </option>
          ))}
        </select>
      </label>
      <Presets engine={engine} trace={trace} filter={question.filter} ask={(filter) => navigation.ask({ filter })} />
      <Frames engine={engine} question={question} mistake={ofFrames} ask={(change) => navigation.ask(change)} />
    </section>
  );
}
