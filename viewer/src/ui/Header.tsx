// What is looked at: the program, which of its processes, and what to do with the page.

import type { Page } from "../page";
import type { Trace } from "../engine/api";
import { write } from "./address";
import { command } from "./command";
import type { Navigation } from "./navigation";
import { CopyButton } from "./parts/Copy";
import { baseName, brief } from "./parts/names";
import type { Theme } from "./theme";

interface HeaderProps {
  page: Page;
  traces: Trace[];
  navigation: Navigation;
  theme: Theme;
  toggleTheme(): void;
  help(): void;
}

export function Header({ page, traces, navigation, theme, toggleTheme, help }: HeaderProps) {
  const { address } = navigation;
  const trace = page.traces[address.trace]?.trace ?? null;
  const facts = trace?.facts;
  const other = theme === "dark" ? "light" : "dark";
  return (
    <header class="top">
      <div class="subject">
        <span class="brand" aria-hidden="true">
          <Mark />
        </span>
        <h1>{brief(page.title || facts?.program || "Lifetrace")}</h1>
        {facts?.command && facts.command !== page.title && (
          <span class="command" title={brief(facts.command, 2000)}>
            {brief(facts.command)}
          </span>
        )}
      </div>
      {page.traces.length > 1 && <Chooser page={page} navigation={navigation} />}
      <div class="actions">
        {trace && (
          <CopyButton text={() => command({ ...address, trace: traces.indexOf(trace) }, traces)} label="Copy as command" />
        )}
        <CopyButton text={() => `${location.href.split("#")[0]}#${write(address)}`} label="Copy link" />
        <button type="button" onClick={toggleTheme} title={`Change to the ${other} theme`} aria-label={`Change to the ${other} theme`} class="icon">
          {theme === "dark" ? "☀" : "☾"}
        </button>
        <button type="button" onClick={help} title="Keys and filters (?)" aria-label="Help" class="icon" aria-keyshortcuts="?">
          ?
        </button>
      </div>
    </header>
  );
}

/** Which process is looked at. */
function Chooser({ page, navigation }: { page: Page; navigation: Navigation }) {
  return (
    <label class="chooser">
      <span class="label">Process</span>
      <select
        value={String(navigation.address.trace)}
        onChange={(event) => navigation.choose(Number(event.currentTarget.value))}
      >
        {page.traces.map((loaded, number) => (
          <option key={number} value={String(number)}>
            {nameOf(loaded, number)}
          </option>
        ))}
      </select>
    </label>
  );
}

function nameOf({ trace, problem }: Page["traces"][number], number: number): string {
  if (problem !== null || !trace) return `${number + 1}: cannot be read`;
  const { program, file, pid } = trace.facts;
  const process = pid ? ` (${pid})` : "";
  return `${number + 1}: ${brief(program || baseName(file), 60)}${process}, ${brief(baseName(file), 60)}`;
}

/** Births and deaths of a few blocks. */
function Mark() {
  return (
    <svg viewBox="0 0 20 20" width="18" height="18">
      <path d="M2 5h9M5 10h13M2 15h6M11 15h5" stroke="currentColor" stroke-width="2.6" stroke-linecap="round" fill="none" />
    </svg>
  );
}
