// How long the engine takes for a page's first trace, in headless Chromium: each view with each of some twenty filters, every
// one asked for the first time.
//
//     node test/bench/run.mjs PAGE
//
// Lines of JSON: {name, samples, median_ms, worst_ms}. `filter` is choosing samples and all totals; each view comes on top.

import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { chromium } from "playwright-core";

const [page] = process.argv.slice(2);
if (page === undefined) {
  console.error("usage: node test/bench/run.mjs PAGE");
  process.exit(2);
}
const base64 = /<script type="text\/plain" class="lifetrace-trace">([A-Za-z0-9+/=\s]*)<\/script>/.exec(readFileSync(page, "utf8"))?.[1];
if (base64 === undefined) throw new Error(`${page}: there is no trace in it`);

const { outputFiles } = await build({
  entryPoints: [fileURLToPath(new URL("./inside.ts", import.meta.url))],
  bundle: true,
  write: false,
  format: "iife",
  globalName: "bench",
  minify: true,
  logLevel: "warning",
});

const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--headless=new", "--no-sandbox"] });
try {
  const tab = await browser.newPage();
  await tab.setContent("<!doctype html><title>bench</title>");
  await tab.addScriptTag({ content: outputFiles[0].text });
  tab.setDefaultTimeout(0);
  const rows = await tab.evaluate((text) => globalThis.bench.measure(text), base64);
  for (const row of rows) console.log(JSON.stringify(row));
} finally {
  await browser.close();
}
