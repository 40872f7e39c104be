// What is drawn on canvases, and the tables beside it: by roles and keys, as a screen reader and a keyboard have them.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { bundleOf, packed } from "../support/bundle";
import { launch, PATIENCE } from "./browser.mjs";
import { app } from "./traces";

let chrome;
before(async () => (chrome = await launch()), { timeout: PATIENCE });
after(() => chrome?.close());
const spec = (name, does) => test(name, { timeout: PATIENCE }, does);

const says = (page, part) => page.waitForFunction((part) => decodeURIComponent(location.hash).includes(part), part);
const saysNot = (page, part) => page.waitForFunction((part) => !decodeURIComponent(location.hash).includes(part), part);
const graph = (page) => page.getByRole("application", { name: /Functions and what they call|Callsites and their callers/ });
const press = async (page, ...keys) => {
  for (const key of keys) await page.keyboard.press(key);
};

spec("a flame graph is walked by arrows, zoomed by Enter, and its address finds the place again", async () => {
  const { page, quiet } = await chrome.open([app], { fragment: "view=flame" });
  await graph(page).focus();
  await press(page, "ArrowDown", "ArrowDown", "ArrowDown", "ArrowRight");
  await page.getByText(/^serve, /).waitFor({ state: "attached" });
  await press(page, "Enter");
  await says(page, "zoom=main");
  const address = page.url();
  await press(page, "Escape");
  await saysNot(page, "zoom=");
  await page.goto("about:blank");
  await page.goto(address);
  await page.getByRole("button", { name: "Show all" }).click();
  await saysNot(page, "zoom=");
  quiet();
});

spec("a flame graph is clicked, inverted and searched", async () => {
  const { page, quiet } = await chrome.open([app], { fragment: "view=flame" });
  const box = await graph(page).boundingBox();
  await page.mouse.move(box.x + 200, box.y + 28);
  await page.getByRole("tooltip").getByText("main", { exact: true }).waitFor();
  await page.getByRole("tooltip").getByText("samples").waitFor();
  await page.mouse.click(box.x + 200, box.y + 28);
  await says(page, "zoom=main");
  await press(page, "i");
  await says(page, "inverted=1");
  await page.getByText(/callsites first, their callers below/).waitFor();
  await press(page, "/");
  await page.keyboard.type("createClient");
  await page.getByText(/^\d+\.\d % matched$/).waitFor();
  await page.getByRole("searchbox", { name: /Search functions/ }).fill("no such name");
  await page.getByText("nothing found").waitFor();
  quiet();
});

spec("the menu of a function hides it, focuses on it and chooses it, by keys too", async () => {
  const { page, quiet } = await chrome.open([app], { fragment: "view=flame" });
  await graph(page).focus();
  await press(page, "ArrowDown", "ArrowDown", "ArrowDown", "ArrowRight", "m");
  const menu = page.getByRole("menu", { name: "serve" });
  await menu.getByRole("menuitem", { name: /Hide this function/ }).click();
  await says(page, "hide=serve");
  await page.goBack();
  await saysNot(page, "hide=");
  await graph(page).focus();
  await press(page, "ArrowDown", "ArrowDown", "ArrowDown", "ArrowRight", "o");
  await says(page, "focus=serve");
  await page.goBack();
  await saysNot(page, "focus=");
  await graph(page).focus();
  await press(page, "ArrowDown", "ArrowDown", "ArrowDown", "ArrowRight", "+");
  await says(page, "filter=fn=serve");
  quiet();
});

spec("a flame graph is a list too, which opens", async () => {
  const { page, quiet } = await chrome.open([app], { fragment: "view=flame" });
  await page.getByRole("button", { name: "As a list" }).click();
  const list = page.getByRole("treegrid", { name: /Call tree/ });
  const serve = list.getByRole("row", { name: /serve/ });
  await list.getByRole("row", { name: /100\.0 %.*all/ }).waitFor();
  if ((await serve.getAttribute("aria-expanded")) === "true") {
    await serve.focus();
    await press(page, "ArrowLeft");
  }
  await serve.focus();
  assert.equal(await list.getByRole("row", { name: /createClient/ }).count(), 0);
  await press(page, "ArrowRight");
  await list.getByRole("row", { name: /createClient/ }).waitFor();
  quiet();
});

spec("a search says how many callsites it left, and an estimate of few samples is grey", async () => {
  const { page, quiet } = await chrome.open([app], { fragment: "view=callsites&filter=leaks allocated before 1s" });
  await page.getByRole("searchbox", { name: /Search callsites/ }).fill("client");
  await page.getByText("1 callsite, 100.0 %").waitFor();
  const noisy = page.getByRole("table").locator("td .noise[title]").first();
  assert.match(await noisy.getAttribute("title"), /rests on 4 samples: little more than a hint/);
  quiet();
});

spec("cells of lifetime by size are walked by keys, and filter", async () => {
  const { page, quiet } = await chrome.open([app], { fragment: "view=lifetimes" });
  await page.getByRole("application", { name: /Lifetime by size/ }).focus();
  await press(page, "ArrowRight");
  await page.getByText(/^lifetime.*: /).waitFor();
  await press(page, "Escape");
  await page.getByRole("button", { name: "As a table" }).click();
  const table = page.getByRole("table", { name: "Lifetime by size" });
  await table.getByRole("row", { name: /not freed/ }).first().waitFor();
  await page.getByRole("img", { name: /All blocks: .* outlives/ }).waitFor();
  await page.getByRole("combobox", { name: "of" }).selectOption({ index: 1 });
  await says(page, "site=");
  await page.getByText(/^Lifetimes of .*'s objects: /).waitFor();
  quiet();
});

spec("functions, hot paths, sizes, threads and temporary blocks have their rows", async () => {
  const { page, quiet } = await chrome.open([app], { fragment: "view=functions" });
  await page.getByRole("table", { name: /Functions by/ }).getByRole("row", { name: /serve/ }).waitFor();
  const to = (fragment) => page.evaluate((fragment) => void (location.hash = fragment), fragment);
  await to("view=paths");
  await page.getByText(/hot paths? by bytes allocated/).waitFor();
  await to("view=sizes");
  await page.getByRole("table", { name: "Blocks by size" }).getByRole("button", { name: /KiB/ }).first().waitFor();
  await to("view=threads");
  await page.getByRole("table", { name: /Threads by/ }).getByRole("row", { name: /worker/ }).waitFor();
  await to("view=temporary");
  await page.getByRole("table", { name: /freed within 10 ms/ }).getByRole("row", { name: /parse/ }).waitFor();
  await page.getByRole("button", { name: "within 1.0 s", exact: true }).click();
  await says(page, "below=1000000");
  quiet();
});

spec("two halves of a trace are compared, and a side's mistake is shown beside it", async () => {
  const { page, quiet } = await chrome.open([app], { fragment: "view=diff" });
  await page.getByRole("table", { name: "Totals" }).getByRole("row", { name: /allocated.*(significant|may be noise|equal)/ }).waitFor();
  const after = page.getByRole("textbox", { name: "Filter: After" });
  await after.fill("siez>1KiB");
  await after.press("Enter");
  await page.getByRole("alert").getByText(/unknown term `siez`/).waitFor();
  await after.fill("allocated after 50% not fn=createClient");
  await after.press("Enter");
  const gone = page.getByRole("table", { name: /Changes by callsite/ }).getByRole("row", { name: /createClient/ });
  await gone.getByText("gone").waitFor();
  await gone.getByText("significant", { exact: true }).waitFor();
  assert.match(await gone.textContent(), /−/);
  await page.getByRole("application", { name: /Changes of/ }).waitFor();
  quiet();
});

const object = (name, retained, retainers = [], more = {}) => ({
  class: name, address: `0x7f${retained.toString(16)}`, bytes: 40, retained_bytes: retained, retained_objects: 3, share: retained / 9e6, retainers, ...more,
});
const heap = {
  file: "app.1.lth", number: 1, time_unix_ns: 1786965711174340000, runtime: "ruby 3.1.2", cause: "at exit", complaints: ["7 objects are left out"],
  retainers: {
    bytes: 9e6,
    retainers: [object("Hash", 5e6, [object("Session", 3e6, [object("<img src=x onerror=alert(1)>", 2e6)])], { slot: "global_tbl" })],
    others: [{ class: "String", objects: 9000, retained_bytes: 1e6, share: 1 / 9 }],
  },
};

spec("a heap's snapshot shows what retains what, and the way to a class", async () => {
  const samples = [{ frames: [[{ function: "main" }]], born: 1, bytes: 64, weight: 1 }];
  const snapshot = packed(bundleOf({ samples, heap }));
  const { page, quiet } = await chrome.open([snapshot], { fragment: "view=heap" });
  await page.getByRole("application", { name: /What retains what/ }).waitFor();
  await page.getByText("7 objects are left out").waitFor();
  await page.getByRole("searchbox", { name: /Search classes/ }).fill("onerror");
  await page.getByText("1.91 MiB in 1 place").waitFor();
  const way = page.getByRole("region", { name: "Ways from the roots" }).getByRole("listitem");
  assert.match(await way.textContent(), /global_tbl: Hash → Session → <img src=x onerror=alert\(1\)>/);
  await page.getByRole("button", { name: "As a list" }).click();
  await page.getByRole("treegrid", { name: "What retains what" }).getByRole("row", { name: /9,000 × String/ }).waitFor();
  quiet();
});

spec("drawings are as wide as a narrow window, in the dark as well", async () => {
  for (const view of ["flame", "lifetimes", "sandwich", "diff"]) {
    const { page, quiet, context } = await chrome.open([app], { fragment: `view=${view}`, width: 400, dark: true });
    const canvas = page.getByRole("application").first();
    await canvas.waitFor();
    const box = await canvas.boundingBox();
    assert.ok(box.x >= 0 && box.x + box.width <= 400, `${view}: ${JSON.stringify(box)}`);
    const corner = await canvas.evaluate((it) => [...it.getContext("2d").getImageData(it.width - 3, 3, 1, 1).data]);
    assert.ok(corner[0] + corner[1] + corner[2] < 300, `${view} is drawn light: ${corner}`);
    quiet();
    await context.close();
  }
});
