// The flame graph: where memory comes from, the outermost function first or the callsites first.

import { useMemo } from "preact/hooks";
import type { Tree } from "../../engine/api";
import { About, sentenceOf } from "../flame/About";
import { actionsOn, actOn } from "../flame/actions";
import { byLifetime, byModule, type ColourBy } from "../flame/colour";
import { Flame } from "../flame/Flame";
import { Legend } from "../flame/Legend";
import { find, matcher, type Found } from "../flame/search";
import { TreeList } from "../flame/TreeList";
import { Disclosure } from "../parts/Disclosure";
import { counted, estimate, measure, percent, unitOf } from "../parts/format";
import { useKeys } from "../parts/keys";
import { Choices, Search, Toolbar } from "../parts/Toolbar";
import { tells } from "../told";
import type { View, ViewProps } from "../view";

function FlameView(props: ViewProps) {
  const { answer, state, setState, ask } = props;
  const { metric, collapseRecursion } = answer.question;
  const inverted = state.inverted === "1";
  const tree = useMemo(() => answer.tree(inverted), [answer, inverted]);
  const lifetimes = tells(props.trace.facts, "lifetimes");
  const colour: ColourBy = lifetimes && state.colour === "lifetime" ? "lifetime" : "module";
  const end = props.trace.facts.end;
  const colouring = useMemo(() => (colour === "lifetime" ? byLifetime(tree, end) : byModule(tree)), [tree, colour, end]);
  const found = useFound(tree, state.find ?? "");
  const unit = unitOf(metric);
  const invert = () => setState({ inverted: inverted ? "" : "1", zoom: "" });
  useKeys({ i: invert, c: () => ask({ collapseRecursion: !collapseRecursion }) });
  if (tree.parent.length <= 1 || tree.total[0] === 0) return <p class="empty">Nothing is chosen that has a backtrace.</p>;
  const lineOf = (node: number) => tree.lines[tree.line[node]];
  const root = inverted ? "all callsites" : "all";
  return (
    <section class="views">
      <Toolbar label="Flame graph">
        <Direction inverted={inverted} onInvert={invert} />
        {lifetimes && <ColourChoice colour={colour} onChoose={(colour) => setState({ colour: colour === "module" ? "" : colour })} />}
        <label class="check">
          <input type="checkbox" checked={collapseRecursion} onChange={() => ask({ collapseRecursion: !collapseRecursion })} />
          Collapse recursion
        </label>
        <Search label="Search functions" value={state.find ?? ""} onSearch={(find) => setState({ find })} said={said(found, tree)} />
        {state.zoom && (
          <button type="button" class="quiet" onClick={() => setState({ zoom: "" })}>
            Show all
          </button>
        )}
      </Toolbar>
      <p class="lead">
        {estimate(tree.interval(0), unit)} by {measure(metric)}, {counted(answer.samples, "sample")}
        {inverted ? "; callsites first, their callers below" : "; the outermost function first"}
      </p>
      <Flame
        label={inverted ? "Callsites and their callers" : "Functions and what they call"}
        tree={tree}
        root={root}
        colouring={colouring}
        found={found}
        zoom={state.zoom ?? ""}
        onZoom={(zoom) => setState({ zoom })}
        tooltip={(node, zoomed) => <About tree={tree} node={node} zoomed={zoomed} unit={unit} root={root} lifetimes={lifetimes} />}
        sentence={(node) => sentenceOf(tree, node, unit)}
        menu={(node) => actionsOn(lineOf(node), props)}
        onKey={(key, node) => actOn(key, lineOf(node), props)}
      />
      <Legend colouring={colouring} title={colour === "module" ? "Colours: object files" : "Colours: mean lifetime"} />
      <Disclosure title="As a list" open={state.list === "1"} onToggle={(open) => setState({ list: open ? "1" : "" })}>
        <TreeList label={`Call tree by ${measure(metric)}`} tree={tree} unit={unit} onPick={(node) => props.go("sandwich", { fn: lineOf(node).function ?? "" })} />
      </Disclosure>
    </section>
  );
}

/** What a search finds in a tree. */
export function useFound(tree: Tree, text: string): Found | null {
  return useMemo(() => {
    const matches = matcher(text);
    return matches ? find(tree, matches) : null;
  }, [tree, text]);
}

/** The share of what a search found. */
export function said(found: Found | null, tree: Tree): string {
  if (!found) return "";
  return found.nodes === 0 ? "nothing found" : `${percent(found.total / (tree.total[0] || 1))} matched`;
}

function Direction(props: { inverted: boolean; onInvert(): void }) {
  const now = props.inverted ? "inverted" : "down";
  return (
    <Choices
      label="Direction"
      value={now}
      onChoose={(value) => value !== now && props.onInvert()}
      choices={[
        { value: "down", label: "Top-down", title: "The outermost function first (i)" },
        { value: "inverted", label: "Inverted", title: "Callsites first, their callers below (i)" },
      ]}
    />
  );
}

function ColourChoice(props: { colour: ColourBy; onChoose(colour: ColourBy): void }) {
  return (
    <Choices
      label="Colour by"
      value={props.colour}
      onChoose={props.onChoose}
      choices={[
        { value: "module", label: "By module" },
        { value: "lifetime", label: "By lifetime", title: "By the mean lifetime of what came through" },
      ]}
    />
  );
}

export const view: View = {
  id: "flame",
  title: "Flame graph",
  key: "4",
  isFor: () => true,
  component: FlameView,
};
