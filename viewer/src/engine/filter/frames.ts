// From text to what is done to backtraces: `--hide` and `--focus`.

import { type FullMistake, expected } from "../grammar/mistake";
import type { Parser } from "./parse";
import { isMistake, reading } from "./parse";
import { step } from "./parse_names";
import { type FramePattern, writtenPattern } from "./term";

const BESIDE_GAP = "a frame on each side of `*`";

/** What is done to backtraces before they are shown, in this order. */
export interface FrameView {
  hide: FramePattern[];
  collapseRecursion: boolean;
  /** Stretches of frames that call each other, outermost first; between two of them may be any number of others. */
  focus: FramePattern[][] | null;
}

export function parseStep(text: string): FramePattern | FullMistake {
  return reading(text, (parser) => {
    const pattern = step(parser, false);
    if (!parser.scanner.isAtEnd()) throw expected("the end");
    return pattern;
  });
}

/** `A;B;*;C`, outermost first: A calls B, which calls C, directly or through others. */
export function parsePath(text: string): FramePattern[][] | FullMistake {
  return reading(text, path);
}

function path(parser: Parser): FramePattern[][] {
  const stretches: FramePattern[][] = [];
  let stretch: FramePattern[] = [];
  do {
    if (!gap(parser)) stretch.push(step(parser, true));
    else if (stretch.length === 0) throw expected(BESIDE_GAP);
    else {
      stretches.push(stretch);
      stretch = [];
    }
  } while (parser.scanner.eat(";"));
  if (!parser.scanner.isAtEnd()) throw expected("`;` or the end");
  if (stretch.length === 0) throw expected(BESIDE_GAP);
  stretches.push(stretch);
  return stretches;
}

/** Goes past a step that any number of frames may take, if that comes next. */
function gap(parser: Parser): boolean {
  const ahead = parser.scanner.copy();
  ahead.skipSpace();
  const isStar = ahead.eat("*");
  ahead.skipSpace();
  const isGap = isStar && (ahead.isAtEnd() || ahead.peek() === ";");
  if (isGap) parser.scanner.become(ahead);
  return isGap;
}

/** What an address or a command says of frames. */
export function parseView(hide: string[], focus: string, collapseRecursion: boolean): FrameView | FullMistake {
  const patterns: FramePattern[] = [];
  for (const text of hide) {
    const pattern = parseStep(text);
    if (isMistake(pattern)) return pattern;
    patterns.push(pattern);
  }
  const path = focus.trim() === "" ? null : parsePath(focus);
  if (path !== null && isMistake(path)) return path;
  return { hide: patterns, collapseRecursion, focus: path };
}

/** The one text of a view; views of equal texts are equal. */
export function writtenView(view: FrameView): string {
  const path = view.focus?.map((stretch) => stretch.map(writtenPattern).join(";")).join(";*;");
  return [...view.hide.map(writtenPattern), String(view.collapseRecursion), path ?? ""].join("\n");
}
