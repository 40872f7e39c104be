// What is wrong with a text that somebody typed, in the words of the command.

import type { Mistake } from "../api";
import type { Scanner } from "./scan";

/** What makes a mistake worth a suggestion: the kinds of words that are unknown. */
export type Unknown = "term" | "moment" | "source";

/** Thrown while a text is read, and caught by whoever began to read it: no exception leaves the grammar. */
export class Wrong extends Error {
  constructor(
    message: string,
    readonly unknown: Unknown | null = null,
    readonly word = "",
  ) {
    super(message);
  }
}

export function expected(what: string): Wrong {
  return new Wrong(`expected ${what}`);
}

/** A word that means nothing, as far as it need be told. */
export function clipped(word: string): string {
  const characters = [...word];
  return characters.length <= 40 ? word : `${characters.slice(0, 40).join("")}…`;
}

/** What is shown of a text, with the place of the mistake in it. */
export interface FullMistake extends Mistake {
  /** What may have been meant, to be put in the place of the mistake. */
  suggestion: string | null;
  hint: string | null;
}

/** A mistake that was made where the scanner is. */
export function told(scanner: Scanner, wrong: Wrong, suggestion: string | null, hint: string | null): FullMistake {
  const { start, end } = scanner.blame();
  const meant = suggestion === null ? "" : `; did you mean \`${suggestion}\`?`;
  const message = printable(wrong.message) + meant;
  return { message, start, end, suggestion, hint: suggestion === null ? hint : null };
}

/** The mistake with the text, a line of carets below it and what may help: as the command prints it. */
export function picture(text: string, mistake: FullMistake): string {
  const carets = "^".repeat(Math.max(1, [...text.slice(mistake.start, mistake.end)].length));
  const indent = " ".repeat([...text.slice(0, mistake.start)].length);
  const hint = mistake.hint === null ? "" : `\n  ${mistake.hint}`;
  return `${mistake.message}\n  ${printable(text)}\n  ${indent}${carets}${hint}`;
}

/** Without what would drive a terminal or turn the direction of writing. */
export function printable(text: string): string {
  return text.replace(/\t/g, " ").replace(/[\p{Cc}\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu, "\ufffd");
}
