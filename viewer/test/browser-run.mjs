// Builds the application and tests it in a real Chromium: `node test/run.mjs browser [PART]`.

import { build } from "esbuild";
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));

/** Runs the tests whose file's name has `part` in it; gives the exit code. */
export async function run(part = "") {
  const chromium = process.env.CHROMIUM ?? "/usr/bin/chromium";
  if (!existsSync(chromium)) {
    console.log(`skipped: there is no ${chromium} (CHROMIUM says where another one is)`);
    return 0;
  }
  // Beneath the packages that the tests ask for.
  mkdirSync(join(here, "../node_modules/.tests"), { recursive: true });
  const folder = mkdtempSync(join(here, "../node_modules/.tests/browser-"));
  try {
    const template = join(folder, "viewer.html");
    const built = spawnSync(process.execPath, [join(here, "../build.mjs"), template], { stdio: "inherit" });
    if (built.status !== 0) return 1;
    const args = ["--test", "--test-concurrency=1", ...(await bundled(part, folder))];
    return spawnSync(process.execPath, args, { stdio: "inherit", env: { ...process.env, LIFETRACE_VIEWER: template, LIFETRACE_TRACES: join(here, "../../fixtures/traces") } }).status ?? 1;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** The tests as files that node runs: the traces that they are about are TypeScript. */
async function bundled(part, folder) {
  const names = readdirSync(join(here, "browser")).filter((name) => name.endsWith(".test.mjs") && name.includes(part));
  if (names.length === 0) throw new Error(`no browser test has "${part}" in its name`);
  await build({
    entryPoints: names.map((name) => join(here, "browser", name)),
    outdir: folder,
    outExtension: { ".js": ".mjs" },
    bundle: true,
    packages: "external",
    platform: "node",
    format: "esm",
    sourcemap: "inline",
    logLevel: "warning",
  });
  return names.map((name) => join(folder, name));
}
