// What a tooltip says of a node.

import type { Tree } from "../../engine/api";
import { count, counted, estimate, isNoise, percent, plain, type Unit } from "../parts/format";
import { functionOf, sourceOf, brief } from "../parts/names";
import { about } from "../parts/spans";

export function About(props: { tree: Tree; node: number; zoomed: number; unit: Unit; root: string; lifetimes?: boolean }) {
  const { tree, node, zoomed, unit } = props;
  const line = node === 0 ? null : tree.lines[tree.line[node]];
  const samples = tree.samples[node];
  const interval = tree.interval(node);
  const noise = isNoise(interval, samples);
  const lifetime = props.lifetimes === false ? null : tree.meanLifetime(node);
  return (
    <div class="about">
      <div class="about-name">{line ? functionOf(line) : props.root}</div>
      {line && <div class="about-source">{[sourceOf(line), line.inlined ? "(inlined)" : ""].filter(Boolean).join(" ")}</div>}
      {line?.module && line.file && line.module !== line.file && <div class="about-source">{brief(line.module)}</div>}
      <dl>
        <dt>total</dt>
        <dd class={noise ? "number noise" : "number"}>
          {estimate(interval, unit)} · {percent(tree.total[node] / (tree.total[0] || 1))}
          {zoomed > 0 && node !== zoomed && tree.total[zoomed] >= tree.total[node] && ` · ${percent(tree.total[node] / tree.total[zoomed])} of what is zoomed`}
        </dd>
        <dt>own</dt>
        <dd class="number">{tree.own[node] > 0 ? plain(tree.own[node], unit) : "nothing"}</dd>
        <dt>samples</dt>
        <dd class="number">{count(samples)}</dd>
        {lifetime !== null && <dt>mean lifetime</dt>}
        {lifetime !== null && <dd class="number">{about(lifetime)}</dd>}
      </dl>
    </div>
  );
}

/** The same in a sentence, for a screen reader. */
export function sentenceOf(tree: Tree, node: number, unit: Unit): string {
  const share = percent(tree.total[node] / (tree.total[0] || 1));
  const own = tree.own[node] > 0 ? `, ${plain(tree.own[node], unit)} of that itself` : "";
  return `${estimate(tree.interval(node), unit)}, ${share}, ${counted(tree.samples[node], "sample")}${own}`;
}
