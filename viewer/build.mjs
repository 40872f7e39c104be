// Makes the application: one HTML file, and in it the places where the command puts its policy and its data
// (docs/format-page.md). The application's script is packed; a small one unpacks it (src/boot.ts), and the page says by
// a comment which hash the policy must allow for what comes out. The same sources give the same bytes, on every machine.
//
//   node build.mjs [OUT]     OUT is crates/viewer/assets/viewer.html if it is not told

import { build } from "esbuild";
import { deflateSync } from "fflate";
import { createHash } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { fileURLToPath } from "node:url";

/** What the application may take in a page, in bytes. */
const LIMIT = 300_000;

const here = dirname(fileURLToPath(import.meta.url));
const out = resolve(process.argv[2] ?? `${here}/../crates/viewer/assets/viewer.html`);

const [application, boot] = await Promise.all([bundled("src/main.tsx"), bundled("src/boot.ts")]);
const html = page(application.style, boot.script, application.script);
const bytes = Buffer.byteLength(html);
if (bytes > LIMIT) {
  console.error(`the application takes ${bytes} bytes, more than ${LIMIT}`);
  process.exit(1);
}
mkdirSync(dirname(out), { recursive: true });
writeFileSync(out, html);
console.log(`${out}: ${bytes} bytes, ${application.script.length} unpacked`);

async function bundled(entry) {
  const { outputFiles } = await build({
    absWorkingDir: here,
    entryPoints: [entry],
    outdir: "out",
    bundle: true,
    write: false,
    minify: true,
    format: "iife",
    target: ["chrome110", "firefox113", "safari16.4"],
    jsx: "automatic",
    jsxImportSource: "preact",
    legalComments: "none",
    // Other characters are written out, so that text and bytes are the same.
    charset: "ascii",
    define: { "process.env.NODE_ENV": '"production"' },
  });
  const text = (end) => outputFiles.find((file) => file.path.endsWith(end))?.text.trim() ?? "";
  return { style: text(".css"), script: text(".js") };
}

function page(style, boot, script) {
  for (const [code, end] of [[style, "</style"], [boot, "</script"]]) {
    if (code.toLowerCase().includes(end) || code.includes("<!--")) throw new Error(`there is markup in what is between tags: ${end}`);
  }
  const packed = Buffer.from(deflateSync(Buffer.from(script), { level: 9 })).toString("base64");
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<!--lifetrace:script ${hash(script)}-->
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
<script type="text/plain" id="lifetrace-app">${packed}</script>
<script>${boot}</script>
</body>
</html>
`;
}

/** As a policy has it. */
function hash(text) {
  return `sha256-${createHash("sha256").update(text).digest("base64")}`;
}
