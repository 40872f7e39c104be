// The views that draw, and the tables: what they show, and what a click or a key on it does.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { launch, PATIENCE } from "./browser.mjs";
import { app, child } from "./traces";

let chrome;
before(async () => (chrome = await launch()), { timeout: PATIENCE });
after(() => chrome?.close());
const spec = (name, does) => test(name, { timeout: PATIENCE }, does);
const says = (page, part) => page.waitForFunction((part) => location.hash.includes(part), part);
const opened = (view, bundles = [app], more = {}) => chrome.open(bundles, { fragment: `view=${view}`, ...more });

spec("the flame graph is walked, zoomed and inverted by keys, and is a list as well", async () => {
  const { page, quiet } = await opened("flame");
  const graph = page.getByRole("application", { name: /Functions and what they call/ });
  await graph.focus();
  for (const key of ["ArrowDown", "ArrowDown", "Enter"]) await page.keyboard.press(key);
  await says(page, "zoom=");
  await page.keyboard.press("Escape");
  await page.waitForFunction(() => !location.hash.includes("zoom="));
  await page.keyboard.press("i");
  await page.getByRole("button", { name: "Inverted", pressed: true }).waitFor();
  await page.getByRole("button", { name: "As a list" }).click();
  await page.getByRole("treeitem", { name: /createClient/ }).or(page.getByRole("row", { name: /createClient/ })).first().waitFor();
  quiet();
});

spec("a function of the flame graph is hidden and focused on by keys", async () => {
  const { page, quiet } = await opened("flame");
  const graph = page.getByRole("application", { name: /Functions and what they call/ });
  await graph.focus();
  for (const key of ["ArrowDown", "ArrowDown", "x"]) await page.keyboard.press(key);
  await says(page, "hide=");
  await page.getByRole("button", { name: /^Remove hide/ }).click();
  await page.waitForFunction(() => !location.hash.includes("hide="));
  await graph.focus();
  for (const key of ["ArrowDown", "ArrowDown", "o"]) await page.keyboard.press(key);
  await says(page, "focus=");
  quiet();
});

spec("a search in the flame graph says how much it has found", async () => {
  const { page, quiet } = await opened("flame");
  await page.keyboard.type("/cache");
  await page.getByRole("status").filter({ hasText: "20.5 %" }).first().waitFor();
  quiet();
});

spec("callsites are sorted by a click, and a row opens its backtraces", async () => {
  const { page, quiet } = await opened("callsites");
  const table = page.getByRole("table", { name: "Callsites by bytes allocated" });
  const first = table.getByRole("rowheader").first();
  assert.match(await first.textContent(), /parse/);
  await table.getByRole("button", { name: "live at end" }).click();
  await says(page, "sort=");
  await page.waitForFunction(() => document.querySelector('tbody th[scope="row"]').textContent.includes("createClient"));
  await table.getByRole("row", { name: /createClient/ }).getByRole("button", { name: "Details" }).click();
  await table.getByText("serve").first().waitFor();
  quiet();
});

spec("a cell of lifetime by size becomes a filter", async () => {
  const { page, quiet } = await opened("lifetimes");
  await page.getByRole("application", { name: /Lifetime by size/ }).focus();
  await page.keyboard.press("ArrowRight");
  for (let at = 0; at < 12; at++) await page.keyboard.press("Shift+ArrowUp");
  const said = page.getByText(/^lifetime.*, [1-9][\d.]* %$/);
  for (let at = 0; at < 40 && (await said.count()) === 0; at++) await page.keyboard.press("Shift+ArrowRight");
  await page.keyboard.press("Enter");
  await says(page, "filter=");
  assert.match(await page.getByRole("textbox", { name: "Filter", exact: true }).inputValue(), /lifetime|freed|size/);
  quiet();
});

spec("a sandwich has callers and callees of a function", async () => {
  const { page, quiet } = await opened("sandwich&fn=serve");
  await page.getByRole("region", { name: "Callers" }).waitFor();
  await page.getByRole("region", { name: "Callees" }).getByRole("application").waitFor();
  await page.getByText(/came through it/).first().waitFor();
  quiet();
});

spec("two traces are compared, with what is significant in words", async () => {
  const { page, quiet } = await opened("diff", [app, child]);
  const totals = page.getByRole("table", { name: "Totals" });
  await totals.getByRole("row", { name: /^allocated \+13 ± 6 MiB \+13\.7 % significant/ }).waitFor();
  await page.getByRole("textbox", { name: "Filter: After" }).fill("fn:siez size<<");
  await page.getByRole("textbox", { name: "Filter: After" }).press("Enter");
  await page.getByRole("textbox", { name: "Filter: After" }).and(page.locator('[aria-invalid="true"]')).waitFor();
  quiet();
});

spec("two halves of one trace are compared", async () => {
  const { page, quiet } = await opened("diff");
  assert.equal(await page.getByRole("textbox", { name: "Filter: Before" }).inputValue(), "allocated before 50%");
  await page.getByRole("table", { name: "Totals" }).getByRole("row", { name: /^allocated/ }).waitFor();
  quiet();
});

for (const [view, table, row] of [
  ["functions", /Functions/, /main/],
  ["threads", /Threads/, /worker/],
  ["sizes", /./, /KiB/],
  ["temporary", /./, /parse/],
]) {
  spec(`${view} are a table`, async () => {
    const { page, quiet } = await opened(view);
    await page.getByRole("tabpanel").getByRole("table", { name: table }).first().getByRole("row", { name: row }).first().waitFor();
    quiet();
  });
}

spec("hot paths are told", async () => {
  const { page, quiet } = await opened("paths");
  await page.getByRole("tabpanel").getByText("parse").first().waitFor();
  quiet();
});

spec("metrics change what all views are about", async () => {
  const { page, quiet } = await opened("callsites");
  await page.getByRole("combobox", { name: "Metric" }).selectOption("live");
  await says(page, "metric=live");
  const table = page.getByRole("table", { name: "Callsites by bytes live at the end" });
  assert.match(await table.getByRole("rowheader").first().textContent(), /createClient/);
  quiet();
});
