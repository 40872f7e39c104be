// A heap snapshot beside the trace: what would go with what, and how what is searched for is held.

import { useMemo } from "preact/hooks";
import { byGroup } from "../flame/colour";
import { Flame } from "../flame/Flame";
import { Legend } from "../flame/Legend";
import { find } from "../flame/search";
import { TreeList } from "../flame/TreeList";
import { heapTree, waysTo, type HeapTree, type Snapshot } from "../heap/retainers";
import { Disclosure } from "../parts/Disclosure";
import { bytes, count, counted, percent } from "../parts/format";
import { copyText } from "../parts/Copy";
import { brief } from "../parts/names";
import { Search, Toolbar } from "../parts/Toolbar";
import type { View, ViewProps } from "../view";

const WAYS = 20;

function HeapView(props: ViewProps) {
  const { state, setState, trace } = props;
  const snapshot = trace.heap as Snapshot;
  const document = snapshot.retainers;
  const heap = useMemo(() => heapTree(document), [document]);
  const { tree, held } = heap;
  const text = state.find ?? "";
  const colouring = useMemo(() => byGroup(tree, (line) => held[line.id].class, "paler: several, summed up"), [tree, held]);
  const ways = useMemo(() => waysTo(heap, text, WAYS), [heap, text]);
  const found = useMemo(() => {
    const wanted = text.trim().toLowerCase();
    return wanted === "" ? null : find(tree, (line) => (line.function ?? "").toLowerCase().includes(wanted));
  }, [tree, text]);
  const said = text.trim() === "" ? "" : `${bytes(ways.bytes)} in ${counted(ways.found, "place")}`;
  return (
    <section class="views">
      <Toolbar label="Heap snapshot">
        <Search label="Search classes and objects" value={text} onSearch={(find) => setState({ find })} said={said} />
        {state.zoom && (
          <button type="button" class="quiet" onClick={() => setState({ zoom: "" })}>
            Show all
          </button>
        )}
      </Toolbar>
      <p class="lead">
        What would go with what, of the {bytes(document.bytes)} that roots hold: a block is as wide as what would go if it went, itself and
        what it alone holds.
      </p>
      <Origin snapshot={snapshot} />
      <Flame
        label="What retains what"
        tree={tree}
        root="what the roots hold"
        colouring={colouring}
        found={found}
        zoom={state.zoom ?? ""}
        onZoom={(zoom) => setState({ zoom })}
        tooltip={(node) => <AboutHeld heap={heap} node={node} />}
        sentence={(node) => `${bytes(tree.total[node])}, ${percent(tree.total[node] / (tree.total[0] || 1))}`}
        menu={(node) => [
          { label: `Ways to ${brief(held[node].class, 24)}`, run: () => setState({ find: held[node].class }) },
          { label: "Copy the name", run: () => void copyText(held[node].name) },
        ]}
      />
      <Legend colouring={colouring} title="Colours: classes" />
      {text.trim() !== "" && <Ways heap={heap} ways={ways} />}
      <Disclosure title="As a list" open={state.list === "1"} onToggle={(open) => setState({ list: open ? "1" : "" })}>
        <TreeList label="What retains what" head="object" tree={tree} unit="bytes" />
      </Disclosure>
      <p class="note">
        What is held in several ways is below the first that all of them have in common. Objects that retain little are summed up by class;
        the snapshot has them one by one: <code>lifetrace heap --view retainers</code>.
      </p>
    </section>
  );
}

/** Which snapshot it is, and what is wrong with it. */
function Origin({ snapshot }: { snapshot: Snapshot }) {
  const { file, runtime, cause, time_unix_ns: time, complaints = [] } = snapshot;
  const date = time ? `${new Date(time / 1e6).toISOString().slice(0, 19).replace("T", " ")} UTC` : "";
  return (
    <>
      <p class="note origin">{[file, runtime, date, cause].map((it) => brief(String(it ?? ""), 120)).filter(Boolean).join(", ")}</p>
      {complaints.map((complaint) => (
        <p key={complaint} class="note warn">
          {brief(complaint)}
        </p>
      ))}
    </>
  );
}

function AboutHeld(props: { heap: HeapTree; node: number }) {
  const { tree, held } = props.heap;
  const it = held[props.node];
  return (
    <div class="about">
      <div class="about-name">{brief(it.name)}</div>
      {it.address && <div class="about-source">{it.address}</div>}
      <dl>
        <dt>retains</dt>
        <dd class="number">
          {bytes(tree.total[props.node])} · {percent(tree.total[props.node] / (tree.total[0] || 1))}
          {it.objects > 0 && ` in ${counted(it.objects, "object")}`}
        </dd>
        {props.node > 0 && !it.summed && <dt>itself</dt>}
        {props.node > 0 && !it.summed && <dd class="number">{bytes(it.bytes)}</dd>}
      </dl>
    </div>
  );
}

function Ways(props: { heap: HeapTree; ways: ReturnType<typeof waysTo> }) {
  const { heap, ways } = props;
  const { tree, held } = heap;
  if (ways.found === 0) return <p class="empty">Nothing in what is shown has this in its name. What is summed up by class has no names of objects.</p>;
  return (
    <section aria-label="Ways from the roots">
      <h2>Ways from the roots</h2>
      <ol class="ways">
        {ways.ways.map((way) => (
          <li key={way.node}>
            <span class="number">{bytes(tree.total[way.node])}</span>
            <span class="way">
              {way.steps.map((node, at) => (
                <span key={node}>
                  {at > 0 && <span class="muted"> → </span>}
                  <span class={node === way.node ? "way-end" : ""}>{brief(held[node].name, 80)}</span>
                </span>
              ))}
            </span>
          </li>
        ))}
      </ol>
      {ways.found > ways.ways.length && <p class="note">and {count(ways.found - ways.ways.length)} more, each of which retains less</p>}
    </section>
  );
}

export const view: View = {
  id: "heap",
  title: "Heap",
  key: "0",
  isFor: (trace) => trace.heap !== null && trace.heap !== undefined,
  component: HeapView,
};
