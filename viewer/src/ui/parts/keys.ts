// Keys that a view hears while it is shown.

import { useEffect, useRef } from "preact/hooks";

/** Calls what belongs to a key, unless something is being typed. */
export function useKeys(keys: Record<string, () => void>) {
  const now = useRef(keys);
  now.current = keys;
  useEffect(() => {
    const hear = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || isTyping(event.target)) return;
      const act = now.current[event.key];
      if (!act) return;
      event.preventDefault();
      act();
    };
    document.addEventListener("keydown", hear);
    return () => document.removeEventListener("keydown", hear);
  }, []);
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest("input, textarea, select, [role=menu]") !== null;
}
