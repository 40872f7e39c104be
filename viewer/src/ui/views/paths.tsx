// Hot paths: sequences of calls that explain most, anywhere in backtraces.

import { useMemo, useState } from "preact/hooks";
import type { HotPath } from "../../engine/api";
import { Bar } from "../parts/Bar";
import { CopyButton } from "../parts/Copy";
import { count, counted, estimate, isNoise, measure, percent, unitOf, type Unit } from "../parts/format";
import { Backtrace, placeText } from "../parts/Location";
import { functionTerm } from "../parts/names";
import { Estimate, Percent } from "../parts/Number";
import { Toolbar } from "../parts/Toolbar";
import type { View, ViewProps } from "../view";

const FIRST = 20;
/** Longer paths are cut in the middle until they are opened. */
const SHORT = 9;

function PathsView(props: ViewProps) {
  const { answer } = props;
  const { metric } = answer.question;
  const unit = unitOf(metric);
  const all = useMemo(() => answer.paths(), [answer]);
  const [shown, setShown] = useState(FIRST);
  const explained = all.slice(0, shown).reduce((sum, path) => sum + path.freshShare, 0);
  if (all.length === 0) return <p class="empty">No path explains 1 % or more.</p>;
  return (
    <section class="views">
      <Toolbar label="Hot paths">
        <CopyButton label="Copy paths" text={() => all.map((path) => written(path, unit)).join("\n")} />
      </Toolbar>
      <p class="lead">
        {count(Math.min(shown, all.length))} of {counted(all.length, "hot path")} by {measure(metric)}: {percent(explained)} of the total. A
        path may be anywhere in a backtrace. By itself it explains what no path above it and no longer one around it does.
      </p>
      <ol class="paths">
        {all.slice(0, shown).map((path, at) => (
          <OnePath key={at} path={path} unit={unit} number={at + 1} props={props} />
        ))}
      </ol>
      {shown < all.length && (
        <button type="button" class="quiet" onClick={() => setShown(shown + 2 * FIRST)}>
          {count(all.length - shown)} more
        </button>
      )}
    </section>
  );
}

function OnePath(of: { path: HotPath; unit: Unit; number: number; props: ViewProps }) {
  const { path, unit, number, props } = of;
  const [whole, setWhole] = useState(false);
  const noise = isNoise(path.total);
  const long = path.lines.length > SHORT;
  const lines = long && !whole ? path.lines.slice(0, SHORT - 1) : path.lines;
  const term = functionTerm(path.lines[0] ?? null);
  return (
    <li>
      <div class="path-head">
        <span class="rank number">{number}.</span>
        <Percent of={path.share} noise={noise} />
        <Bar share={path.share} noise={noise} />
        <Estimate of={path.total} unit={unit} />
        {path.freshShare < path.share && <span class="number muted">{percent(path.freshShare)} by itself</span>}
        {term && (
          <button type="button" class="quiet" onClick={() => props.narrow(term)}>
            Only through its innermost call
          </button>
        )}
      </div>
      <Backtrace lines={lines} onPick={(line) => props.go("sandwich", { fn: line.function ?? "" })} />
      {long && (
        <button type="button" class="link more" aria-expanded={whole} onClick={() => setWhole(!whole)}>
          {whole ? "shorter" : `and ${counted(path.lines.length - lines.length, "caller")}`}
        </button>
      )}
    </li>
  );
}

function written(path: HotPath, unit: Unit): string {
  const head = `${percent(path.share)}  ${estimate(path.total, unit)}  ${percent(path.freshShare)} by itself`;
  return [head, ...path.lines.map((line) => `    ${placeText(line)}`), ""].join("\n");
}

export const view: View = { id: "paths", title: "Hot paths", key: "6", isFor: () => true, component: PathsView };
