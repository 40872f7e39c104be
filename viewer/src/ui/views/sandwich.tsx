// One function between those that call it and those that it calls.

import { useMemo, useState } from "preact/hooks";
import type { Tree } from "../../engine/api";
import { About, sentenceOf } from "../flame/About";
import { actionsOn, actOn } from "../flame/actions";
import { byModule } from "../flame/colour";
import { Flame } from "../flame/Flame";
import { Legend } from "../flame/Legend";
import { TreeList } from "../flame/TreeList";
import { Disclosure } from "../parts/Disclosure";
import { estimate, measure, percent, unitOf } from "../parts/format";
import { brief, quoted } from "../parts/names";
import { Estimate } from "../parts/Number";
import { Search, Toolbar } from "../parts/Toolbar";
import { tells } from "../told";
import type { View, ViewProps } from "../view";
import { said, useFound } from "./flame";

/** Names that the field offers. */
const OFFERED = 300;

function SandwichView(props: ViewProps) {
  const { answer, state, setState } = props;
  const { metric } = answer.question;
  const unit = unitOf(metric);
  const functions = useMemo(() => answer.functions(), [answer]);
  const hottest = useMemo(() => [...functions].sort((a, b) => b.ownShare - a.ownShare).find((row) => row.function), [functions]);
  const fn = state.fn || hottest?.function || "";
  const sandwich = useMemo(() => answer.sandwich(fn), [answer, fn]);
  const names = useMemo(() => [...new Set(functions.slice(0, OFFERED).map((row) => row.function ?? ""))].filter(Boolean), [functions]);
  const all = useMemo(() => answer.tree(false).total[0] || 1, [answer]);
  const isEmpty = sandwich.total.value === 0;
  return (
    <section class="views">
      <Toolbar label="Callers and callees">
        <FunctionField value={fn} names={names} onChoose={(fn) => setState({ fn, zoom: "", above: "" })} />
      </Toolbar>
      {isEmpty ? (
        <p class="empty">{fn === "" ? "Nothing is chosen." : `Nothing that is chosen came through ${brief(fn, 120)}.`}</p>
      ) : (
        <>
          <p class="lead">
            <Estimate of={sandwich.total} unit={unit} /> ({percent(sandwich.total.value / all)}) came through it, by {measure(metric)}
          </p>
          <Half {...props} tree={sandwich.callers} fn={fn} title="Callers" zoomKey="above" flipped />
          <div class="sandwich-middle">
            <strong>{brief(fn, 200)}</strong>
            <button type="button" class="quiet" onClick={() => props.narrow(`fn=${quoted(fn)}`)}>
              Only what came through it
            </button>
            <button type="button" class="quiet" onClick={() => props.go("flame", { inverted: "", zoom: "", find: fn })}>
              In the flame graph
            </button>
          </div>
          <Half {...props} tree={sandwich.callees} fn={fn} title="Callees" zoomKey="zoom" />
        </>
      )}
    </section>
  );
}

function Half(props: ViewProps & { tree: Tree; fn: string; title: string; zoomKey: "zoom" | "above"; flipped?: boolean }) {
  const { tree, answer, state, setState, title, zoomKey, fn } = props;
  const [find, setFind] = useState("");
  const [list, setList] = useState(false);
  const unit = unitOf(answer.question.metric);
  const colouring = useMemo(() => byModule(tree), [tree]);
  const found = useFound(tree, find);
  const root = brief(fn, 200);
  const lineOf = (node: number) => tree.lines[tree.line[node]];
  const only = tree.parent.length <= 1;
  return (
    <section aria-label={title}>
      <h2>{title}</h2>
      {only ? (
        <p class="note">{props.flipped ? "Nothing calls it: it stands at the bottom of its backtraces." : "It calls nothing that allocates: what came through it, it allocated itself."}</p>
      ) : (
        <>
          {!props.flipped && <Toolbar label={title}>
            <Search label="Search callees" value={find} onSearch={setFind} said={said(found, tree)} />
          </Toolbar>}
          <Flame
            label={`${title} of ${root}`}
            tree={tree}
            root={root}
            colouring={colouring}
            found={found}
            zoom={state[zoomKey] ?? ""}
            onZoom={(path) => setState({ [zoomKey]: path })}
            tooltip={(node, zoomed) => <About tree={tree} node={node} zoomed={zoomed} unit={unit} root={root} lifetimes={tells(props.trace.facts, "lifetimes")} />}
            sentence={(node) => sentenceOf(tree, node, unit)}
            menu={(node) => actionsOn(lineOf(node), props)}
            onKey={(key, node) => actOn(key, lineOf(node), props)}
            highest={300}
            flipped={props.flipped}
          />
          <Legend colouring={colouring} title="Colours: object files" />
          <Disclosure title={`${title} as a list`} open={list} onToggle={setList}>
            <TreeList label={`${title}, ${estimate(tree.interval(0), unit)}`} tree={tree} unit={unit} onPick={(node) => setState({ fn: lineOf(node).function ?? fn, zoom: "", above: "" })} />
          </Disclosure>
        </>
      )}
    </section>
  );
}

/** A field that offers names; what is typed counts when it is entered. */
function FunctionField(props: { value: string; names: string[]; onChoose(name: string): void }) {
  return (
    <form
      class="search"
      onSubmit={(event) => {
        event.preventDefault();
        props.onChoose(new FormData(event.currentTarget).get("fn") as string);
      }}
    >
      <label class="check">
        Function
        <input
          key={props.value}
          name="fn"
          class="function-field"
          list="functions-offered"
          spellcheck={false}
          autocomplete="off"
          defaultValue={props.value}
          onChange={(event) => props.names.includes(event.currentTarget.value) && props.onChoose(event.currentTarget.value)}
        />
      </label>
      <datalist id="functions-offered">
        {props.names.map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
      <button type="submit" class="quiet">
        Show
      </button>
    </form>
  );
}

export const view: View = { id: "sandwich", title: "Sandwich", key: "", isFor: () => true, component: SandwichView };
