// What stands above a view: choices, and a search.

import type { ComponentChildren } from "preact";

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
