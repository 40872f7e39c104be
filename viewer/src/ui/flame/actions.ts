// What can be done with a node: as a menu, and by keys.

import type { Line } from "../../engine/api";
import { copyText } from "../parts/Copy";
import { baseName, brief, frameOf, functionTerm, quoted } from "../parts/names";
import type { ViewProps } from "../view";
import type { MenuItem } from "./Menu";

/** The menu of a line. */
export function actionsOn(line: Line, props: ViewProps): MenuItem[] {
  const { answer, ask, narrow, go } = props;
  const { hide } = answer.question;
  const frame = frameOf(line);
  const term = functionTerm(line);
  const none = frame === null;
  const module = line.module;
  const items: MenuItem[] = [
    { label: "Focus on this function", key: "o", disabled: none, run: () => ask({ focus: frame! }) },
    { label: "Hide this function", key: "x", disabled: none, run: () => ask({ hide: [...hide, frame!] }) },
    { label: "Callers and callees", key: "w", disabled: none, run: () => go("sandwich", { fn: line.function! }) },
    { label: "Only what came through it", key: "+", disabled: none, run: () => narrow(term!) },
    { label: "Without what came through it", key: "-", disabled: none, run: () => narrow(`not ${term!}`) },
  ];
  if (module) {
    const name = baseName(module);
    items.push({ label: `Hide all of ${brief(name, 24)}`, run: () => ask({ hide: [...hide, `module=${quoted(name)}`] }) });
  }
  items.push({
    label: answer.question.collapseRecursion ? "Show recursion" : "Collapse recursion",
    key: "c",
    run: () => ask({ collapseRecursion: !answer.question.collapseRecursion }),
  });
  items.push({ label: "Copy the name", disabled: none, run: () => void copyText(line.function ?? "") });
  return items;
}

/** Does what a key of the menu says. */
export function actOn(key: string, line: Line, props: ViewProps): boolean {
  const item = actionsOn(line, props).find((item) => item.key === key && !item.disabled);
  item?.run();
  return item !== undefined;
}
