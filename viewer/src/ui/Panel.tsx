// Where the view is; what fails in it, and what could not be read, is said there.

import { Component, type ComponentChildren } from "preact";
import type { Mistake, Question } from "../engine/api";
import type { View, ViewProps } from "./view";

interface PanelProps {
  /** Why the trace cannot be read. */
  problem: string | null;
  view: View | null;
  props: ViewProps | null;
  /** The view that the address asks for. */
  asked: string;
  mistake: Mistake | null;
  ask(change: Partial<Question>): void;
}

export function Panel({ problem, view, props, asked, mistake, ask }: PanelProps) {
  const label = view && problem === null ? { "aria-labelledby": `tab-${view.id}` } : { "aria-label": "View" };
  return (
    <main>
     <div id="panel" role="tabpanel" tabIndex={-1} {...label} class={`view view-${view?.id ?? "none"}${mistake ? " stale" : ""}`}>
      {problem !== null ? (
        <Message title="This trace cannot be read">
          <p>{problem}</p>
          <p>Make the page anew from the trace, or look with <code>lifetrace check</code> at what is wrong with that.</p>
        </Message>
      ) : !props ? (
        <Message title="The question cannot be read">
          <p>{mistake?.message}</p>
          <p>
            <button type="button" onClick={() => ask({ filter: "", hide: [], focus: "" })}>
              Show all blocks
            </button>
          </p>
        </Message>
      ) : !view ? (
        <Message title="Nothing to show">
          <p>This trace has nothing for the view “{asked.slice(0, 40)}”.</p>
          <p>
            <button type="button" onClick={() => props.go("summary")}>
              Show the summary
            </button>
          </p>
        </Message>
      ) : (
        <Guard key={`${view.id} ${props.current}`}>
          <view.component {...props} />
        </Guard>
      )}
     </div>
    </main>
  );
}

function Message({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <div class="message" role="alert">
      <h2>{title}</h2>
      {children}
    </div>
  );
}

/** A view that fails says so, and leaves the rest of the page as it is. */
class Guard extends Component<{ children: ComponentChildren }, { failure: string | null }> {
  state = { failure: null };

  static getDerivedStateFromError(error: unknown) {
    return { failure: error instanceof Error ? error.message : String(error) };
  }

  render({ children }: { children: ComponentChildren }, { failure }: { failure: string | null }) {
    if (failure === null) return children;
    return (
      <Message title="This view failed">
        <p>{failure}</p>
        <p>That is a defect of the page; other views still work.</p>
      </Message>
    );
  }
}
