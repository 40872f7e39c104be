// The page: reads what it carries, then shows it.

import { render } from "preact";
import { load } from "./page";
import { engine } from "./engine/index";
import { App } from "./ui/App";
import "./style.css";

const root = document.getElementById("app")!;

function say(text: string): void {
  render(<p class="loading" role="status">{text}</p>, root);
}

async function start(): Promise<void> {
  say("Reading the trace…");
  const page = await load(engine, (done, all) => {
    if (all > 1) say(`Reading trace ${done + 1} of ${all}…`);
  });
  document.title = page.title ? `${page.title} – Lifetrace` : "Lifetrace";
  render(<App engine={engine} page={page} />, root);
}

start().catch((error: unknown) => {
  const text = error instanceof Error ? error.message : String(error);
  render(<div class="loading" role="alert">This page cannot be shown: {text}</div>, root);
});
