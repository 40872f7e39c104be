// What the views of the shell show: time, leaks, the collector.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { launch, PATIENCE } from "./browser.mjs";
import { app } from "./traces";

let chrome;
before(async () => (chrome = await launch()), { timeout: PATIENCE });
after(() => chrome?.close());
const spec = (name, does) => test(name, { timeout: PATIENCE }, does);
const says = (page, part) => page.waitForFunction((part) => location.hash.includes(part), part);

spec("a range that is dragged can be asked four questions", async () => {
  const { page, quiet } = await chrome.open([app], { fragment: "view=timeline" });
  const chart = page.getByRole("application", { name: /Live bytes over time/ });
  const box = await chart.boundingBox();
  await page.mouse.move(box.x + box.width * 0.3, box.y + 100);
  await page.mouse.down();
  for (const part of [0.35, 0.4, 0.5, 0.6]) await page.mouse.move(box.x + box.width * part, box.y + 120);
  await page.mouse.up();
  await says(page, "range=");
  const questions = page.getByRole("group", { name: "Questions about the range" });
  await questions.getByRole("button", { name: /^Allocated in it \d/ }).waitFor();
  await questions.getByRole("button", { name: /^Allocated in it, still live at its end/ }).click();
  await says(page, "filter=allocated%20");
  const filter = await page.getByRole("textbox", { name: "Filter", exact: true }).inputValue();
  assert.match(filter, /^allocated \S+\.\.(\S+) alive at \1$/);
  await questions.getByRole("button", { name: /^Died in it/ }).click();
  await says(page, "filter=freed%20");
  assert.match(await page.getByRole("textbox", { name: "Filter", exact: true }).inputValue(), /^freed \S+\.\.\S+$/);
  quiet();
});

spec("a range is chosen by keys and by text, and zoomed to", async () => {
  const { page, quiet } = await chrome.open([app], { fragment: "view=timeline" });
  await page.getByRole("application", { name: /Live bytes over time/ }).focus();
  await page.keyboard.press("ArrowRight");
  await says(page, "range=0..");
  await page.keyboard.press("Shift+ArrowRight");
  await page.getByRole("textbox", { name: "From", exact: true }).fill("10");
  await page.getByRole("textbox", { name: "From", exact: true }).press("Enter");
  await says(page, "range=10000000..60000000");
  await page.getByRole("textbox", { name: "to", exact: true }).fill("20");
  await page.getByRole("textbox", { name: "to", exact: true }).press("Enter");
  await says(page, "range=10000000..20000000");
  await page.getByRole("button", { name: "Zoom to the range" }).click();
  await page.getByRole("application", { name: /from 10 s to 20 s/ }).waitFor();
  await page.getByRole("button", { name: "All of the time" }).click();
  await page.getByRole("application", { name: /from 0 s to 60 s/ }).waitFor();
  quiet();
});

spec("the chart is a table too", async () => {
  const { page, quiet } = await chrome.open([app], { fragment: "view=timeline" });
  await page.getByText("The same as a table").click();
  const table = page.getByRole("table", { name: "Live bytes over time" });
  await table.getByRole("columnheader", { name: "createClient" }).waitFor();
  await table.getByRole("columnheader", { name: "resident" }).waitFor();
  assert.ok((await table.getByRole("row").count()) >= 30);
  quiet();
});

spec("leaks come with their evidence, and lost blocks with what holds the rest", async () => {
  const { page, quiet } = await chrome.open([app], { fragment: "view=leaks" });
  await page.getByText(/that would fill 4 GiB in 5\.7 h/).waitFor();
  const leaks = page.getByRole("table", { name: "Leaks", exact: true });
  const row = leaks.getByRole("row", { name: /createClient/ });
  await row.getByText("+720 ± 140 MiB/h").waitFor();
  await row.getByRole("img", { name: "Live bytes of createClient over time" }).waitFor();
  await row.getByRole("button", { name: "Details" }).click();
  await page.getByText("Nothing of what it allocated was ever freed.").first().waitFor();
  await page.getByText("Alone it would fill 4 GiB in 5.7 h", { exact: false }).waitFor();
  await page.getByRole("table", { name: "No leaks: level" }).getByRole("row", { name: /cache/ }).waitFor();
  await page.getByRole("table", { name: "Lost blocks by callsite" }).getByRole("row", { name: /createClient/ }).waitFor();
  await page.getByRole("table", { name: "What holds the rest" }).getByRole("row", { name: /registry/ }).waitFor();
  await row.getByRole("button", { name: "createClient" }).click();
  await says(page, "filter=innermost%20fn%3DcreateClient");
  await page.getByText("What grows is judged over the whole trace", { exact: false }).waitFor();
  quiet();
});

spec("collections are counted", async () => {
  const { page, quiet } = await chrome.open([app], { fragment: "view=collector" });
  const row = page.getByRole("table", { name: "Collections by generation" }).getByRole("row", { name: /minor/ });
  await row.getByText("40", { exact: true }).waitFor();
  await row.getByRole("img", { name: "minor collections over time" }).waitFor();
  await page.getByRole("table", { name: "Exact figures" }).getByRole("row", { name: /resident memory/ }).waitFor();
  quiet();
});
