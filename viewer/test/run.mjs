// Runs tests: `node test/run.mjs unit [PART]`, `node test/run.mjs browser [PART]`; PART is in the names of the files that
// are run. Unit tests are bundled by esbuild and run by node's own runner.

import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build } from "esbuild";

const here = fileURLToPath(new URL(".", import.meta.url));
const [kind, part = ""] = process.argv.slice(2);

async function unit() {
  const folder = join(here, "unit");
  const files = readdirSync(folder).filter((file) => file.endsWith(".test.ts") && file.includes(part));
  if (files.length === 0) throw new Error(`no unit test has "${part}" in its name`);
  const out = mkdtempSync(join(tmpdir(), "lifetrace-viewer-unit-"));
  try {
    await build({
      entryPoints: files.map((file) => join(folder, file)),
      outdir: out,
      outExtension: { ".js": ".mjs" },
      bundle: true,
      platform: "node",
      format: "esm",
      jsx: "automatic",
      jsxImportSource: "preact",
      sourcemap: "inline",
      logLevel: "warning",
      // Tests read golden files beside their sources.
      define: { "import.meta.dirname": JSON.stringify(folder) },
    });
    const tests = files.map((file) => join(out, file.replace(/\.ts$/, ".mjs")));
    const run = spawnSync(process.execPath, ["--enable-source-maps", "--test", ...tests], { stdio: "inherit" });
    return run.status ?? 1;
  } finally {
    rmSync(out, { recursive: true, force: true });
  }
}

async function browser() {
  const runner = join(here, "browser-run.mjs");
  if (!existsSync(runner)) throw new Error("there are no browser tests yet");
  const { run } = await import(pathToFileURL(runner).href);
  return (await run(part)) ?? 0;
}

const kinds = { unit, browser };
if (!(kind in kinds)) {
  console.error("usage: node test/run.mjs unit|browser [PART]");
  process.exit(2);
}
process.exit(await kinds[kind]());
