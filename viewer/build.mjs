// Makes the application: one HTML file with one <style> and one <script>, and the two places where the command puts
// its policy and its data (docs/format-page.md). The same sources give the same bytes, on every machine.
//
//   node build.mjs [OUT]     OUT is crates/viewer/assets/viewer.html if it is not told

import { build } from "esbuild";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { fileURLToPath } from "node:url";

/** What the application may take in a page, in bytes. */
const LIMIT = 300_000;

const here = dirname(fileURLToPath(import.meta.url));
const out = resolve(process.argv[2] ?? `${here}/../crates/viewer/assets/viewer.html`);

const { outputFiles } = await build({
  absWorkingDir: here,
  entryPoints: ["src/main.tsx"],
  outdir: "out",
  bundle: true,
  write: false,
  minify: true,
  format: "iife",
  target: ["chrome110", "firefox113", "safari16.4"],
  jsx: "automatic",
  jsxImportSource: "preact",
  legalComments: "none",
  charset: "utf8",
  define: { "process.env.NODE_ENV": '"production"' },
});

const text = (end) => outputFiles.find((file) => file.path.endsWith(end)).text.trim();
const html = page(text(".css"), text(".js"));
const bytes = Buffer.byteLength(html);
if (bytes > LIMIT) {
  console.error(`the application takes ${bytes} bytes, more than ${LIMIT}`);
  process.exit(1);
}
mkdirSync(dirname(out), { recursive: true });
writeFileSync(out, html);
console.log(`${out}: ${bytes} bytes`);

function page(style, script) {
  for (const [what, code, end] of [["style", style, "</style"], ["script", script, "</script"]]) {
    if (code.toLowerCase().includes(end)) throw new Error(`the ${what} has its own end in it`);
    if (code.includes("<!--lifetrace:")) throw new Error(`the ${what} has a placeholder in it`);
  }
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<!--lifetrace:policy-->
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>Lifetrace</title>
<link rel="icon" href="data:,">
<style>${style}</style>
</head>
<body>
<div id="app"><noscript>This page needs JavaScript: its numbers are computed here, from the samples that it carries.</noscript></div>
<!--lifetrace:page-->
<script>${script}</script>
</body>
</html>
`;
}
