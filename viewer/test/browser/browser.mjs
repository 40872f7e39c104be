// Opens pages in a real Chromium, and hears all that they do beside showing something.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

/** A machine with much to do is slow; a test that fails says why, whenever that is. */
export const PATIENCE = 240_000;

const CHROMIUM = process.env.CHROMIUM ?? "/usr/bin/chromium";

/** A browser, and pages of traces in it. */
export async function launch() {
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--headless=new", "--no-sandbox"], timeout: PATIENCE });
  const folder = mkdtempSync(join(tmpdir(), "lifetrace-viewer-"));
  const close = async () => {
    await browser.close();
    rmSync(folder, { recursive: true });
  };
  return { folder, close, open: (bundles, options) => open(browser, folder, bundles, options), visit: (file, options) => visit(browser, file, options) };
}

/** A page with these traces, and what its command asked for. */
async function open(browser, folder, bundles, { title = "app", options = {}, ...how } = {}) {
  const file = join(folder, `${createHash("sha256").update(bundles.join()).digest("hex").slice(0, 12)}.html`);
  writeFileSync(file, filled(readFileSync(process.env.LIFETRACE_VIEWER, "utf8"), bundles, title, options));
  return visit(browser, file, how);
}

/** Opens a file; hears all that it asks for and complains of. */
async function visit(browser, file, { fragment = "", width = 1280, height = 900, dark = false } = {}) {
  const context = await browser.newContext({ viewport: { width, height }, colorScheme: dark ? "dark" : "light" });
  context.setDefaultTimeout(PATIENCE);
  const page = await context.newPage();
  const heard = { requests: [], complaints: [] };
  page.on("request", (request) => heard.requests.push(request.url()));
  page.on("pageerror", (error) => heard.complaints.push(`uncaught: ${error.message}`));
  page.on("console", (message) => ["error", "warning"].includes(message.type()) && heard.complaints.push(message.text()));
  await page.addInitScript(() => {
    addEventListener("securitypolicyviolation", (event) => console.error(`policy: ${event.violatedDirective} ${event.blockedURI}`));
  });
  const address = pathToFileURL(file).href;
  await page.goto(fragment ? `${address}#${fragment}` : address);
  await page.getByRole("tabpanel").or(page.getByRole("alert")).first().waitFor();
  /** Fails if the page has asked for anything but itself, or anything went wrong in it. */
  const quiet = () => {
    assert.deepEqual(heard.complaints, []);
    const elsewhere = heard.requests.filter((url) => !url.startsWith(address.split("#")[0]) && !url.startsWith("data:"));
    assert.deepEqual(elsewhere, []);
  };
  return { page, quiet, context, heard };
}

/** The application with data in it, and the policy of docs/format-page.md. */
function filled(template, bundles, title, options) {
  const hash = (name) => {
    const [, code] = new RegExp(`<${name}>([\\s\\S]*?)</${name}>`).exec(template);
    return `'sha256-${createHash("sha256").update(code).digest("base64")}'`;
  };
  const [, packed] = /<!--lifetrace:script (sha256-[\w+/=]+)-->/.exec(template);
  const policy = `default-src 'none'; script-src ${hash("script")} '${packed}'; style-src ${hash("style")}; img-src data:; base-uri 'none'; form-action 'none'`;
  const told = JSON.stringify({ format: 1, title, traces: bundles.length, options }).replace(/</g, "\\u003c");
  const data = [`<script type="application/json" id="lifetrace-page">${told}</script>`, ...bundles.map((text) => `<script type="text/plain" class="lifetrace-trace">${text}</script>`)].join("\n");
  return template
    .replace("<!--lifetrace:policy-->", () => `<meta http-equiv="Content-Security-Policy" content="${policy}">`)
    .replace("<!--lifetrace:page-->", () => data);
}
