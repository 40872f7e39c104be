// The filter as text. What cannot be read is shown where it stands; the answer before it stays.

import { useEffect, useRef, useState } from "preact/hooks";
import type { Mistake } from "../engine/api";
import { isMistake } from "./answers";

/** So long after the last key a filter is applied without Enter. */
const PAUSE = 350;

interface FilterFieldProps {
  filter: string;
  /** Of the filter in the address. */
  mistake: Mistake | null;
  parse(text: string): object;
  ask(filter: string, replace?: boolean): void;
}

export function FilterField({ filter, mistake, parse, ask }: FilterFieldProps) {
  const [draft, setDraft] = useState(filter);
  const [own, setOwn] = useState<Mistake | null>(null);
  const typed = useRef({ timer: 0, sent: filter, isTyping: false });
  useEffect(() => {
    if (filter === typed.current.sent) return;
    typed.current.sent = filter;
    setDraft(filter);
    setOwn(null);
  }, [filter]);
  useEffect(() => () => clearTimeout(typed.current.timer), []);

  const apply = (text: string) => {
    clearTimeout(typed.current.timer);
    const parsed = parse(text);
    setOwn(isMistake(parsed) ? parsed : null);
    if (isMistake(parsed) || text.trim() === typed.current.sent.trim()) return;
    typed.current.sent = text;
    // One entry of the history for what is typed in one go.
    ask(text, typed.current.isTyping);
    typed.current.isTyping = true;
  };
  const type = (text: string) => {
    setDraft(text);
    clearTimeout(typed.current.timer);
    typed.current.timer = window.setTimeout(() => apply(text), PAUSE);
  };
  const leave = () => {
    apply(draft);
    typed.current.isTyping = false;
  };
  const shown = own ?? (draft === filter ? mistake : null);
  return (
    <div class="filter">
      <label class="label" for="filter">
        Filter
      </label>
      <div class="box">
        <input
          id="filter"
          type="text"
          value={draft}
          spellcheck={false}
          autocomplete="off"
          autocapitalize="off"
          placeholder="all blocks: try  leaks   size>=64KiB   fn:parse   allocated 10s..20s"
          aria-keyshortcuts="f"
          aria-invalid={shown !== null}
          aria-describedby={shown ? "filter-mistake" : undefined}
          onInput={(event) => type(event.currentTarget.value)}
          onKeyDown={(event) => event.key === "Enter" && leave()}
          onBlur={leave}
        />
        {draft !== "" && (
          <button type="button" class="clear" aria-label="Clear the filter" title="Clear the filter" onClick={() => (setDraft(""), apply(""))}>
            ×
          </button>
        )}
      </div>
      {shown && <Explained text={own ? draft : filter} mistake={shown} mend={(text) => (setDraft(text), apply(text))} />}
    </div>
  );
}

/** A mistake with its place, and what may have been meant as a button. */
export function Explained(props: { id?: string; text: string; mistake: Mistake; mend?(text: string): void }) {
  const { text, mistake, mend } = props;
  const [start, end] = [Math.min(mistake.start, text.length), Math.min(mistake.end, text.length)];
  const meant = mistake.suggestion;
  return (
    <div class="explained" id={props.id ?? "filter-mistake"} role="alert">
      <p>
        {mistake.message}
        {meant && mend && (
          <>
            {" "}
            <button type="button" class="quiet" onClick={() => mend(text.slice(0, start) + meant + text.slice(end))}>
              Use {meant}
            </button>
          </>
        )}
      </p>
      {text !== "" && (
        <pre aria-hidden="true">
          {`${text}\n${" ".repeat(columns(text.slice(0, start)))}${"^".repeat(Math.max(1, columns(text.slice(start, end))))}`}
        </pre>
      )}
      {mistake.hint && <p class="hint">{mistake.hint}</p>}
    </div>
  );
}

/** As many as a fixed-width font takes, roughly. */
function columns(text: string): number {
  return [...text].length;
}
