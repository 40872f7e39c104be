// The page as a whole: its question, its address, its keys; by roles, as a screen reader finds them.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { launch, PATIENCE } from "./browser.mjs";
import { app, child, damaged } from "./traces";

let chrome;
before(async () => (chrome = await launch()), { timeout: PATIENCE });
after(() => chrome?.close());
const spec = (name, does) => test(name, { timeout: PATIENCE }, does);

const fragment = (page) => new URL(page.url()).hash;
const tab = (page, name) => page.getByRole("tab", { name, exact: true });
const filterField = (page) => page.getByRole("textbox", { name: "Filter", exact: true });
const status = (page) => page.getByRole("status").filter({ hasText: "samples" }).first();

/** Until the address says so: it is changed a moment after the last key. */
const says = (page, part) => page.waitForFunction((part) => location.hash.includes(part), part);

spec("a page opens with its summary, and says what grows", async () => {
  const { page, quiet } = await chrome.open([app]);
  await page.getByRole("heading", { level: 1, name: "app" }).waitFor();
  await page.getByRole("heading", { name: "In words" }).waitFor();
  await page.getByText("Live memory grows by 720 ± 140 MiB/h: createClient grows like a leak.").waitFor();
  await page.getByRole("table", { name: "Totals" }).getByRole("row", { name: /live at end/ }).waitFor();
  assert.equal(await tab(page, "Summary").getAttribute("aria-selected"), "true");
  quiet();
});

spec("each tab has a panel that it names, and nothing complains", async () => {
  const { page, quiet } = await chrome.open([app, child]);
  const tabs = await page.getByRole("tab").all();
  assert.ok(tabs.length >= 13, `${tabs.length} tabs`);
  for (const each of tabs) {
    const name = (await each.textContent()).trim();
    await each.click();
    const panel = page.getByRole("tabpanel", { name, exact: true });
    await panel.waitFor();
    assert.equal(await panel.getByText("This view failed").count(), 0, `${name}: ${await panel.textContent()}`);
    assert.ok((await panel.textContent()).trim().length > 20, `${name} is empty`);
  }
  quiet();
});

spec("a filter narrows what is shown, stands in the address, and a mistake is shown in its place", async () => {
  const { page, quiet } = await chrome.open([app]);
  const all = await status(page).textContent();
  await filterField(page).fill("leaks fn:createClient");
  await filterField(page).press("Enter");
  await says(page, "filter=leaks%20fn%3AcreateClient");
  await page.getByText("200 of 1,100 samples").waitFor();
  assert.notEqual(await status(page).textContent(), all);
  await filterField(page).fill("leaks siez>1KiB");
  const alert = page.getByRole("alert");
  await alert.getByText(/unknown term `siez`/).waitFor();
  await alert.getByText(/leaks siez>1KiB\s+\^\^\^\^/).waitFor();
  assert.equal(await filterField(page).getAttribute("aria-invalid"), "true");
  await alert.getByRole("button", { name: "Use size" }).click();
  await says(page, "filter=leaks%20size%3E1KiB");
  assert.equal(await alert.count(), 0);
  quiet();
});

spec("an address shows what it says, back and forward go through it", async () => {
  const { page, quiet } = await chrome.open([app], { fragment: "view=callsites&filter=fn%3Acache&metric=objects&hide=main&collapse-recursion" });
  await tab(page, "Callsites").and(page.locator('[aria-selected="true"]')).waitFor();
  assert.equal(await filterField(page).inputValue(), "fn:cache");
  assert.equal(await page.getByRole("combobox", { name: "Metric" }).inputValue(), "objects");
  await page.getByRole("button", { name: "Remove hide main" }).waitFor();
  await page.getByRole("button", { name: "Remove recursion collapsed" }).waitFor();
  await tab(page, "Flame graph").click();
  await says(page, "view=flame");
  const kept = fragment(page);
  assert.ok(kept.includes("filter=fn%3Acache") && kept.includes("hide=main") && kept.includes("collapse-recursion"), kept);
  await page.goBack();
  await says(page, "view=callsites");
  await tab(page, "Callsites").and(page.locator('[aria-selected="true"]')).waitFor();
  await page.goForward();
  await tab(page, "Flame graph").and(page.locator('[aria-selected="true"]')).waitFor();
  assert.equal(fragment(page), kept);
  quiet();
});

spec("a page begins with what its command asked for", async () => {
  const { page, quiet } = await chrome.open([app], { options: { filter: "leaks", view: "callsites", metric: "live", hide: ["main"], focus: null, collapse_recursion: false } });
  await tab(page, "Callsites").and(page.locator('[aria-selected="true"]')).waitFor();
  assert.equal(await filterField(page).inputValue(), "leaks");
  assert.equal(await page.getByRole("button", { name: "leaks", exact: true }).getAttribute("aria-pressed"), "true");
  quiet();
});

spec("everything is done by keys, and no letter is lost", async () => {
  const { page, quiet } = await chrome.open([app]);
  await page.keyboard.press("4");
  await tab(page, "Flame graph").and(page.locator('[aria-selected="true"]')).waitFor();
  await page.keyboard.press("1");
  await says(page, "view=summary");
  // From a view without a search: its field is in another, and letters come at once.
  await page.keyboard.type("/cache");
  await page.waitForFunction(() => document.activeElement?.matches("[data-search]") && document.activeElement.value === "cache");
  await page.keyboard.press("Escape");
  await page.keyboard.type("fleaks");
  assert.equal(await filterField(page).inputValue(), "leaks");
  await page.keyboard.press("Enter");
  await says(page, "filter=leaks");
  await page.keyboard.press("Escape");
  await page.keyboard.press("?");
  const help = page.getByRole("dialog", { name: "Keys and filters" });
  await help.waitFor();
  await help.getByText("Flame graph", { exact: true }).waitFor();
  await page.keyboard.press("Escape");
  await help.waitFor({ state: "detached" });
  await tab(page, "Flame graph").focus();
  await page.keyboard.press("ArrowRight");
  await says(page, "view=callsites");
  await page.keyboard.press("Home");
  await says(page, "view=summary");
  quiet();
});

spec("a preset is a button that says whether it is on", async () => {
  const { page, quiet } = await chrome.open([app]);
  const leaks = page.getByRole("button", { name: "leaks", exact: true });
  await leaks.click();
  await says(page, "filter=leaks");
  assert.equal(await leaks.getAttribute("aria-pressed"), "true");
  await leaks.click();
  await page.waitForFunction(() => !location.hash.includes("filter"));
  quiet();
});

spec("of several processes one is chosen, and all are summed", async () => {
  const { page, quiet } = await chrome.open([app, child]);
  await page.getByRole("combobox", { name: "Process" }).selectOption("1");
  await says(page, "trace=1");
  await page.keyboard.press("p");
  const table = page.getByRole("table", { name: "Processes" });
  await table.getByRole("row", { name: /child/ }).waitFor();
  await page.getByRole("heading", { name: /All together/ }).waitFor();
  await table.getByRole("button", { name: "app", exact: true }).click();
  await page.waitForFunction(() => !location.hash.includes("trace="));
  await table.getByRole("button", { name: "Compare with child" }).click();
  await page.getByRole("tabpanel", { name: "Diff" }).waitFor();
  quiet();
});

spec("a trace that cannot be decoded says so, and the others work", async () => {
  const { page, quiet } = await chrome.open([app, "AAAA", child.slice(0, child.length / 2), child]);
  await page.getByRole("heading", { name: "In words" }).waitFor();
  const chooser = page.getByRole("combobox", { name: "Process" });
  for (const broken of ["1", "2"]) {
    await chooser.selectOption(broken);
    await page.getByRole("alert").getByText("This trace cannot be read").waitFor();
  }
  await chooser.selectOption("3");
  await page.getByRole("heading", { name: "In words" }).waitFor();
  quiet();
});

spec("damage and notices are told", async () => {
  const { page, quiet } = await chrome.open([damaged]);
  const notes = page.getByRole("region", { name: "Notes" });
  await notes.getByText(/Damaged: from byte 1,234 on/).waitFor();
  await notes.getByText(/lack their outermost frames/).waitFor();
  await notes.getByText(/This page has 1,100 of the trace's 9,000 samples/).waitFor();
  quiet();
});

spec("a narrow window has all of it, and nothing is wider than it", async () => {
  const { page, quiet } = await chrome.open([app, child], { width: 400, height: 800 });
  for (const each of await page.getByRole("tab").all()) {
    await each.click();
    const wider = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    assert.ok(wider <= 0, `${await each.textContent()} is wider by ${wider}`);
  }
  await filterField(page).fill("leaks");
  await says(page, "filter=leaks");
  quiet();
});

spec("the theme is the system's, until one is chosen", async () => {
  const { page, quiet } = await chrome.open([app], { dark: true });
  const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const dark = await background();
  await page.getByRole("button", { name: "Change to the light theme" }).click();
  assert.notEqual(await background(), dark);
  await page.getByRole("button", { name: "Change to the dark theme" }).click();
  assert.equal(await background(), dark);
  for (const each of await page.getByRole("tab").all()) await each.click();
  quiet();
});

spec("the command of what is shown is copied", async () => {
  const { page, quiet, context } = await chrome.open([app], { fragment: "view=leaks&filter=fn%3Ait's" });
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.getByRole("button", { name: "Copy as command" }).click();
  await page.getByText("Copied", { exact: true }).first().waitFor();
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), "lifetrace report --view leaks --filter 'fn:it'\\''s' app.lt");
  quiet();
});
