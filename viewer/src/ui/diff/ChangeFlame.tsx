// Changes as a flame graph: a block is as wide as what both sides have together.

import { useMemo } from "preact/hooks";
import type { Difference, Tree } from "../../engine/api";
import { actionsOn } from "../flame/actions";
import { byChange } from "../flame/colour";
import { Flame } from "../flame/Flame";
import { Legend } from "../flame/Legend";
import { TreeList } from "../flame/TreeList";
import { Disclosure } from "../parts/Disclosure";
import { change as changeText, measure, percent, plain, pValue, relative, unitOf, type Unit } from "../parts/format";
import { functionOf, sourceOf } from "../parts/names";
import { Search, Toolbar } from "../parts/Toolbar";
import type { ViewProps } from "../view";
import { useFound } from "../views/flame";

type ChangeTree = Difference["tree"];

export function ChangeFlame(props: ViewProps & { difference: Difference }) {
  const { state, setState, difference } = props;
  const tree = useMemo(() => withRoot(difference), [difference]);
  const unit = unitOf(difference.metric);
  const both = useMemo(() => tree.before.map((before, node) => before + tree.after[node]), [tree]);
  const widths: Tree = useMemo(() => ({ ...tree, total: both }), [tree, both]);
  const colouring = useMemo(() => byChange(tree.before, tree.after, tree.significant), [tree]);
  const found = useFound(widths, state.find ?? "");
  if (tree.parent.length <= 1) return null;
  return (
    <>
      <h2>Changes by call tree</h2>
      <Toolbar label="Flame graph of changes">
        <Search
          label="Search functions"
          value={state.find ?? ""}
          onSearch={(find) => setState({ find })}
          said={found ? `${percent(found.total / (both[0] || 1))} matched` : ""}
        />
        {state.zoom && (
          <button type="button" class="quiet" onClick={() => setState({ zoom: "" })}>
            Show all
          </button>
        )}
      </Toolbar>
      <Flame
        label={`Changes of ${measure(difference.metric)}`}
        tree={tree}
        weight={both}
        root="all"
        colouring={colouring}
        found={found}
        zoom={state.zoom ?? ""}
        onZoom={(zoom) => setState({ zoom })}
        tooltip={(node) => <AboutChange tree={tree} node={node} unit={unit} />}
        sentence={(node) => words(tree, node, unit)}
        menu={(node) => actionsOn(tree.lines[tree.line[node]], props)}
      />
      <Legend colouring={colouring} title="Colours: change" />
      <Disclosure title="As a list" open={state.list === "1"} onToggle={(open) => setState({ list: open ? "1" : "" })}>
        <TreeList
          label={`Changes of ${measure(difference.metric)} by call tree`}
          tree={widths}
          unit={unit}
          amount={{ head: "change", text: (node) => words(tree, node, unit), noise: (node) => tree.significant[node] === 0 }}
        />
      </Disclosure>
      <p class="note">A block is as wide as what both sides have of it together.</p>
    </>
  );
}

/** The root is judged as the total is. */
function withRoot({ tree, totals, metric }: Difference): ChangeTree {
  const significant = tree.significant.slice();
  significant[0] = Number(totals[metric]?.significant ?? false);
  return { ...tree, significant };
}

function AboutChange(props: { tree: ChangeTree; node: number; unit: Unit }) {
  const { tree, node, unit } = props;
  const line = node === 0 ? null : tree.lines[tree.line[node]];
  const [before, after] = [tree.before[node], tree.after[node]];
  return (
    <div class="about">
      <div class="about-name">{line ? functionOf(line) : "all"}</div>
      {line && <div class="about-source">{sourceOf(line)}</div>}
      <dl>
        <dt>change</dt>
        <dd class={tree.significant[node] ? "number" : "number noise"}>{words(tree, node, unit)}</dd>
        <dt>p</dt>
        <dd class="number">{pValue(tree.pValue[node])}</dd>
        <dt>before</dt>
        <dd class="number">{plain(before, unit)}</dd>
        <dt>after</dt>
        <dd class="number">{plain(after, unit)}</dd>
      </dl>
    </div>
  );
}

/** `+38 ± 13 MiB, +31.7 %`, `may be noise`. */
function words(tree: ChangeTree, node: number, unit: Unit): string {
  const [before, after] = [tree.before[node], tree.after[node]];
  if (before === after) return "equal";
  const text = changeText(after - before, tree.changeInterval[node], unit);
  if (!tree.significant[node]) return `${text.replace(/^[+−]/, "")}, may be noise`;
  return [text, relative(before, after)].filter(Boolean).join(", ");
}
