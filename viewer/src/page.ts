// Reads what the command has put into the page: what the page is called, and a bundle for each trace.

import type { Engine, Trace } from "./engine/api";

/** What the page says of itself. */
export interface Page {
  title: string;
  options: PageOptions;
  traces: Loaded[];
}

/** The options of the command that made the page, where its address says nothing. */
export interface PageOptions {
  filter?: string | null;
  hide?: string[] | null;
  focus?: string | null;
  collapse_recursion?: boolean | null;
  view?: string | null;
  metric?: string | null;
}

/** A trace of the page, or why it could not be read. */
export type Loaded = { trace: Trace; problem: null } | { trace: null; problem: string };

/** Reads all traces, one after the other, and says how far it is. */
export async function load(engine: Engine, progress: (done: number, all: number) => void): Promise<Page> {
  const element = document.getElementById("lifetrace-page");
  if (!element) throw new Error("There is no trace in this page.");
  const { format, title, options } = JSON.parse(element.textContent ?? "") as {
    format: number;
    title: string;
    options?: PageOptions;
  };
  if (format !== 1) throw new Error(`The page's data is of format ${format}; this application reads format 1.`);
  const bundles = [...document.querySelectorAll("script.lifetrace-trace")];
  const traces: Loaded[] = [];
  for (const [number, bundle] of bundles.entries()) {
    progress(number, bundles.length);
    traces.push(await opened(engine, bundle));
  }
  return { title, options: options ?? {}, traces };
}

async function opened(engine: Engine, element: Element): Promise<Loaded> {
  try {
    const packed = fromBase64(element.textContent ?? "");
    const bundle = await unpacked(packed);
    // The text is of no more use, and may be as large as all else.
    element.textContent = "";
    return { trace: engine.open(bundle), problem: null };
  } catch (error) {
    return { trace: null, problem: sentence(error) };
  }
}

function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  let binary: string;
  try {
    binary = atob(text);
  } catch {
    throw new Error("the page's text of it is not base64; the file may be cut off or changed");
  }
  const bytes = new Uint8Array(binary.length);
  for (let at = 0; at < binary.length; at++) bytes[at] = binary.charCodeAt(at);
  return bytes;
}

async function unpacked(packed: Uint8Array<ArrayBuffer>): Promise<ArrayBuffer> {
  try {
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
    return await new Response(stream).arrayBuffer();
  } catch {
    throw new Error("its data cannot be decompressed; the file may be cut off or changed");
  }
}

function sentence(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text || "it cannot be read";
}
