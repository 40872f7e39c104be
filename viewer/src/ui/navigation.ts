// Where the page is, kept in its address: back and forward work, and a link shows the same.

import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Question } from "../engine/api";
import type { PageOptions } from "../page";
import { first, read, write, type Address } from "./address";

/** Ways to change the address. */
export interface Navigation {
  address: Address;
  ask(change: Partial<Question>, replace?: boolean): void;
  narrow(term: string): void;
  setState(change: Record<string, string>): void;
  go(view: string, state?: Record<string, string>): void;
  choose(trace: number): void;
}

/** Begins with what the command asked for, where the address says nothing. */
export function useNavigation(options: PageOptions): Navigation {
  const beginning = useMemo(() => first(options), [options]);
  const [address, setAddress] = useState(() => read(location.hash, beginning));
  const latest = useRef(address);
  latest.current = address;
  useEffect(() => {
    const heard = () => setAddress(read(location.hash, beginning));
    addEventListener("popstate", heard);
    addEventListener("hashchange", heard);
    return () => {
      removeEventListener("popstate", heard);
      removeEventListener("hashchange", heard);
    };
  }, [beginning]);
  const typed = useRef({ keys: "", time: 0 });
  const move = useCallback<Move>((change, { replace = false, keys = "" } = {}) => {
    const next = change(latest.current);
    const text = write(next);
    if (text === write(latest.current)) return;
    latest.current = next;
    // What a search field or a drag changes again and again is one entry of the history.
    const goesOn = keys !== "" && keys === typed.current.keys && Date.now() - typed.current.time < ONE_GO;
    typed.current = { keys, time: Date.now() };
    history[replace || goesOn ? "replaceState" : "pushState"](null, "", `#${text}`);
    setAddress(next);
  }, []);
  return useMemo(() => ({ address, ...moves(move) }), [address, move]);
}

/** `keys` are what of a view's state is changed. */
type Move = (change: (from: Address) => Address, how?: { replace?: boolean; keys?: string }) => void;

/** Changes of the same that follow each other so soon are one, in milliseconds. */
const ONE_GO = 1500;

function moves(move: Move): Omit<Navigation, "address"> {
  return {
    ask: (change, replace) => move((from) => ({ ...from, question: { ...from.question, ...change } }), { replace }),
    narrow: (term) => move((from) => ({ ...from, question: { ...from.question, filter: joined(from, term) } })),
    setState: (change) =>
      move((from) => ({ ...from, state: told({ ...from.state, ...change }) }), { keys: Object.keys(change).sort().join() }),
    go: (view, state = {}) => move((from) => ({ ...from, view, state: told(state) })),
    // What a view keeps is about the trace that was looked at.
    choose: (trace) => move((from) => ({ ...from, trace, state: {} })),
  };
}

function joined({ question }: Address, term: string): string {
  return `${question.filter.trim()} ${term}`.trim();
}

function told(state: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(state).filter(([, value]) => value !== ""));
}
