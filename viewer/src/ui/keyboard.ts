// Keys of the whole page. Views have their own, which they hear where they have the focus.

import { useEffect, useRef } from "preact/hooks";
import type { View } from "./view";

interface Keys {
  views: View[];
  current: string;
  go(view: string): void;
  help(): void;
}

/** Listens for as long as the page lives. */
export function useKeys(keys: Keys): void {
  const latest = useRef(keys);
  latest.current = keys;
  useEffect(() => {
    const heard = (event: KeyboardEvent) => pressed(event, latest.current);
    document.addEventListener("keydown", heard);
    return () => document.removeEventListener("keydown", heard);
  }, []);
}

function pressed(event: KeyboardEvent, { views, current, go, help }: Keys): void {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  if (document.querySelector("dialog[open]")) return;
  if (isTyping(event.target)) {
    if (event.key === "Escape") (event.target as HTMLElement).blur();
    return;
  }
  const does = action(event.key, views, current, go, help);
  if (!does) return;
  event.preventDefault();
  does();
}

function action(key: string, views: View[], current: string, go: Keys["go"], help: () => void): (() => void) | null {
  switch (key) {
    case "?":
      return help;
    case "f":
      return () => select(document.querySelector("#filter"));
    case "/":
      return () => search(views, go);
    default: {
      const view = views.find((view) => view.key === key);
      return view ? () => view.id !== current && go(view.id) : null;
    }
  }
}

/** The field of the view; where it has none, the flame graph's. Letters typed right after belong to it. */
function search(views: View[], go: Keys["go"]): void {
  if (select(document.querySelector("[data-search]"))) return;
  if (!views.some(({ id }) => id === "flame")) return void select(document.querySelector("#filter"));
  go("flame");
  soon(() => select(document.querySelector("[data-search]")), 5);
}

/** The page is drawn anew in a microtask: before the next key. */
function soon(does: () => boolean, tries: number): void {
  queueMicrotask(() => does() || (tries > 0 && soon(does, tries - 1)));
}

function select(field: HTMLInputElement | null): boolean {
  field?.focus();
  field?.select?.();
  return field !== null;
}

function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target instanceof HTMLInputElement) return !["checkbox", "radio", "button", "range"].includes(target.type);
  return target.isContentEditable || target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement;
}
