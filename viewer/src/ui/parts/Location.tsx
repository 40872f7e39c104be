// A place in a program: function, file and line; and backtraces, which are lists of them.

import type { Line } from "../../engine/api";
import { briefSource, functionOf, sourceOf } from "./names";

/** A function with its file and line. A click on the function does something where `onPick` says so. */
export function Location(props: { line: Line | null; onPick?: () => void; whole?: boolean }) {
  const { line, onPick, whole } = props;
  const name = functionOf(line);
  const source = whole ? sourceOf(line) : briefSource(line);
  return (
    <span class={line?.machinery ? "place machinery" : "place"}>
      {onPick ? (
        <button type="button" class="link name" title={name} onClick={onPick}>
          {name}
        </button>
      ) : (
        <span class="name" title={name}>
          {name}
        </span>
      )}
      {source !== "" && (
        <span class="source" title={sourceOf(line)}>
          {" "}
          {source}
          {line?.inlined ? " (inlined)" : ""}
        </span>
      )}
    </span>
  );
}

/** A backtrace, innermost line first. */
export function Backtrace(props: { lines: Line[]; onPick?: (line: Line) => void }) {
  return (
    <ol class="backtrace">
      {props.lines.map((line, at) => (
        <li key={at}>
          <Location line={line} whole onPick={props.onPick && line.function ? () => props.onPick?.(line) : undefined} />
        </li>
      ))}
    </ol>
  );
}

/** A place as text, for copying. */
export function placeText(line: Line | null): string {
  return [functionOf(line), sourceOf(line)].filter(Boolean).join("  ");
}
