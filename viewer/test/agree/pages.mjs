// Pages and what is in them.

import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { inflateSync } from "node:zlib";
import { build } from "esbuild";
import { fileURLToPath } from "node:url";

const here = fileURLToPath(new URL(".", import.meta.url));
export const folder = mkdtempSync(join(tmpdir(), "lifetrace-agree-"));

/** The engine, as the application has it. */
export async function loadEngine() {
  const outfile = join(folder, "engine.mjs");
  await build({
    entryPoints: [join(here, "../../src/engine/index.ts")],
    outfile,
    bundle: true,
    platform: "node",
    format: "esm",
    sourcemap: "inline",
    logLevel: "warning",
  });
  return (await import(outfile)).engine;
}

/** The bundles of a page, in their order. */
export function bundlesOf(page) {
  const html = readFileSync(page, "utf8");
  const found = [...html.matchAll(/<script type="text\/plain" class="lifetrace-trace">([A-Za-z0-9+/=\s]*)<\/script>/g)];
  return found.map(([, base64]) => {
    const bytes = inflateSync(Buffer.from(base64, "base64"));
    return bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength);
  });
}

/** The bundle of the page that is made of a trace. */
export function exported(lifetrace, trace) {
  const page = join(folder, `${basename(trace)}.html`);
  execFileSync(lifetrace, ["export", "-F", "html", trace, "-o", page], { stdio: ["ignore", "ignore", "inherit"] });
  return bundlesOf(page)[0];
}
