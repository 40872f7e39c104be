// Builds the application and tests it in a real Chromium: `node test/run.mjs browser [PART]`, or this file by itself.

import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));

/** Runs the tests whose file's name has `part` in it; gives the exit code. */
export function run(part = "") {
  const chromium = process.env.CHROMIUM ?? "/usr/bin/chromium";
  if (!existsSync(chromium)) {
    console.log(`skipped: there is no ${chromium} (CHROMIUM says where another one is)`);
    return 0;
  }
  const folder = mkdtempSync(join(tmpdir(), "lifetrace-viewer-"));
  try {
    const template = join(folder, "viewer.html");
    const built = spawnSync(process.execPath, [join(here, "../build.mjs"), template], { stdio: "inherit" });
    if (built.status !== 0) return 1;
    const files = readdirSync(join(here, "browser")).filter((name) => name.endsWith(".test.mjs") && name.includes(part));
    const args = ["--test", "--test-concurrency=1", ...files.map((name) => join(here, "browser", name))];
    return spawnSync(process.execPath, args, { stdio: "inherit", env: { ...process.env, LIFETRACE_VIEWER: template } }).status ?? 1;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) process.exit(run(process.argv[2]));
