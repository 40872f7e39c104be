// What stands above a view: choices, a search, the frames that are hidden or looked at.

import type { ComponentChildren } from "preact";
import type { Question } from "../../engine/api";
import { printable } from "./names";

export function Toolbar(props: { label: string; children: ComponentChildren }) {
  return (
    <div class="toolbar" role="group" aria-label={props.label}>
      {props.children}
    </div>
  );
}

export interface Choice<Value extends string> {
  value: Value;
  label: string;
  title?: string;
  disabled?: boolean;
}

/** One of a few, side by side. */
export function Choices<Value extends string>(props: {
  label: string;
  value: Value;
  choices: Choice<Value>[];
  onChoose(value: Value): void;
}) {
  return (
    <span class="choices" role="group" aria-label={props.label}>
      {props.choices.map((choice) => (
        <button
          key={choice.value}
          type="button"
          title={choice.title}
          disabled={choice.disabled}
          aria-pressed={choice.value === props.value}
          onClick={() => props.onChoose(choice.value)}
        >
          {choice.label}
        </button>
      ))}
    </span>
  );
}

/** The search field of a view; `/` goes to it. */
export function Search(props: { value: string; label: string; onSearch(text: string): void; said?: string }) {
  return (
    <label class="search">
      <span class="hidden">{props.label}</span>
      <input
        type="search"
        data-search=""
        spellcheck={false}
        placeholder={`${props.label}  /`}
        value={props.value}
        onInput={(event) => props.onSearch(event.currentTarget.value)}
        onKeyDown={(event) => event.key === "Escape" && event.currentTarget.blur()}
      />
      <span class="said" role="status">
        {props.said}
      </span>
    </label>
  );
}

/** The frames that the question hides or begins with; a click takes one away. */
export function Frames(props: { question: Question; ask(change: Partial<Question>): void }) {
  const { question, ask } = props;
  const { hide, focus, collapseRecursion } = question;
  if (hide.length === 0 && focus === "" && !collapseRecursion) return null;
  return (
    <span class="frames" role="group" aria-label="Frames">
      {focus !== "" && <Chip text={`focus: ${focus}`} onRemove={() => ask({ focus: "" })} />}
      {hide.map((frame, at) => (
        <Chip key={at} text={`hidden: ${frame}`} onRemove={() => ask({ hide: hide.filter((_, other) => other !== at) })} />
      ))}
      {collapseRecursion && <Chip text="recursion collapsed" onRemove={() => ask({ collapseRecursion: false })} />}
    </span>
  );
}

function Chip(props: { text: string; onRemove(): void }) {
  const text = printable(props.text);
  return (
    <button type="button" class="chip" title={text} aria-label={`Take away: ${text}`} onClick={props.onRemove}>
      <span>{text}</span> <span aria-hidden="true">✕</span>
    </button>
  );
}
