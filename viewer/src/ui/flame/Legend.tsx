// What the colours of a flame graph mean, in words.

import { useEffect, useReducer } from "preact/hooks";
import { brief } from "../parts/names";
import type { Colouring } from "./colour";

export function Legend(props: { colouring: Colouring; title: string }) {
  const styles = props.colouring.styles(useDark());
  return (
    <ul class="legend" aria-label={props.title}>
      {props.colouring.legend.map(({ label, style }) => (
        <li key={label}>
          <span class={props.colouring.hatched?.(style) ? "swatch hatched" : "swatch"} style={{ backgroundColor: styles[style] }} />
          <span title={brief(label)}>{shortened(label)}</span>
        </li>
      ))}
    </ul>
  );
}

/** Of a long path its end. */
function shortened(label: string): string {
  const parts = label.split("/");
  return label.length > 40 && parts.length > 3 ? brief(`…/${parts.slice(-3).join("/")}`, 60) : brief(label, 60);
}

/** Whether the page is dark; follows the page. */
export function useDark(): boolean {
  const [, again] = useReducer((times: number) => times + 1, 0);
  useEffect(() => {
    const attributes = new MutationObserver(() => again(0));
    attributes.observe(document.documentElement, { attributes: true });
    const scheme = matchMedia("(prefers-color-scheme: dark)");
    const hear = () => again(0);
    scheme.addEventListener("change", hear);
    hear();
    return () => (attributes.disconnect(), scheme.removeEventListener("change", hear));
  }, []);
  return isDarkPage();
}

function isDarkPage(): boolean {
  const scheme = getComputedStyle(document.documentElement).colorScheme;
  if (scheme === "dark" || scheme === "light") return scheme === "dark";
  return matchMedia("(prefers-color-scheme: dark)").matches;
}
