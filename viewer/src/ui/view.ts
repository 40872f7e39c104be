// What the shell of the page and its views know of each other.

import type { VNode } from "preact";
import type { Answer, Engine, Question, Trace } from "../engine/api";

/** What every view is given. */
export interface ViewProps {
  engine: Engine;
  /** All traces of the page that can be read, and which is looked at. */
  traces: Trace[];
  current: number;
  trace: Trace;
  answer: Answer;
  /** Changes what is asked; the address follows. */
  ask(change: Partial<Question>): void;
  /** Adds a term to the filter, as a click on something does. */
  narrow(term: string): void;
  /** What a view keeps of itself in the address: `zoom`, `sort`, `inverted`... Empty strings are left out. */
  state: Record<string, string>;
  setState(change: Record<string, string>): void;
  /** Goes to another view, with what it keeps. */
  go(view: string, state?: Record<string, string>): void;
  /** Looks at another of `traces`. */
  choose(trace: number): void;
  /** What is drawn on a canvas has other colours in the dark. */
  theme: "light" | "dark";
}

/** A tab of the page. */
export interface View {
  /** In the address: `view=flame`. */
  id: string;
  title: string;
  /** The key that opens it. */
  key: string;
  /** Whether it has anything to show. */
  isFor(trace: Trace, traces: Trace[]): boolean;
  component(props: ViewProps): VNode;
}
