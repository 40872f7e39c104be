// All keys, and the filter's terms in short.

import { useEffect, useRef } from "preact/hooks";
import type { View } from "./view";

const KEYS: [string, string][] = [
  ["/", "search in the view"],
  ["f", "edit the filter; Enter applies it"],
  ["i", "flame graph: top-down or inverted"],
  ["c", "flame graph: collapse recursion"],
  ["← → ↑ ↓", "walk through tabs, the flame graph, cells, and ranges of time; Shift widens"],
  ["Enter", "zoom in; choose"],
  ["Backspace", "flame graph: one level out"],
  ["o x w", "flame graph: focus on the function, hide it, its callers and callees"],
  ["+ −", "flame graph: only what came through it, or all else"],
  ["m", "flame graph: all of this as a menu"],
  ["Escape", "zoom out; leave a field; close this"],
  ["?", "this list"],
];

const TERMS: [string, string][] = [
  ["leaks", "not freed; other presets: temporary, churn, long-lived, premature, peak"],
  ["size>=64KiB", "also <, <=, =, !=, and ranges: size 1KiB..4KiB"],
  ["lifetime<10ms", "freed so soon; lifetime>=25% of the run"],
  ["allocated 10s..20s", "also freed, alive; before, after, at; 50%, peak, end-5min"],
  ["fn:parse", "through a function with this in its name; = exactly, ~ regular expression"],
  ["innermost fn=main", "allocated by this callsite"],
  ["file=hash.c:42", "through this line; file:, module:, class="],
  ["thread:worker", "by a thread of such a name"],
  ["not …", "the opposite of a term; terms side by side must all hold"],
];

export function Help({ views, close }: { views: View[]; close(): void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const title = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    dialog.current?.showModal();
    // Its button, at the end, would take the focus, and a low window would show that end.
    title.current?.focus();
  }, []);
  const outside = (event: MouseEvent) => event.target === dialog.current && close();
  return (
    <dialog ref={dialog} class="help" aria-labelledby="help-title" onClose={close} onClick={outside}>
      <div>
        <h2 id="help-title" ref={title} tabIndex={-1}>Keys and filters</h2>
        <div class="columns">
          <Listed title="Keys" rows={KEYS} />
          <Listed title="Views" rows={views.map(({ key, title }) => [key, title])} />
          <Listed title="Terms of a filter" rows={TERMS} code />
        </div>
        <form method="dialog">
          <button type="submit">Close</button>
        </form>
      </div>
    </dialog>
  );
}

function Listed({ title, rows, code }: { title: string; rows: [string, string][]; code?: boolean }) {
  return (
    <section>
      <h3>{title}</h3>
      <dl>
        {rows.map(([key, text]) => (
          <div key={text}>
            <dt>{code ? <code>{key}</code> : key && <kbd>{key}</kbd>}</dt>
            <dd>{text}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
