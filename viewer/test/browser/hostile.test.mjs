// Names are text, whatever is in them: nothing runs, nothing is asked of the network, the page's elements are the same.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { launch, PATIENCE } from "./browser.mjs";
import { app, hostile, HOSTILE } from "./traces";

let chrome;
before(async () => (chrome = await launch()), { timeout: PATIENCE });
after(() => chrome?.close());

const KINDS = "script, img, iframe, object, embed, style, link, base, meta, form, svg image, svg script, [onerror], [onload], [srcdoc]";

test("hostile names change nothing but text, in any view", { timeout: PATIENCE }, async () => {
  const harmless = await chrome.open([app]);
  const { page, quiet } = await chrome.open([hostile], { title: HOSTILE[1] });
  const elements = async (page) => (await page.locator(KINDS).evaluateAll((all) => all.map((it) => it.tagName))).sort();
  const usual = await elements(harmless.page);
  const tabs = await page.getByRole("tab").all();
  assert.ok(tabs.length >= 12, `${tabs.length} tabs`);
  for (const each of tabs) {
    await each.click();
    const name = (await each.textContent()).trim();
    assert.equal(await page.getByText("This view failed").count(), 0, name);
    assert.deepEqual((await elements(page)).filter((tag) => tag !== "FORM"), usual.filter((tag) => tag !== "FORM"), name);
    const text = await page.locator("body").innerText();
    assert.ok(!/[\u0000\u001b\u202a-\u202e\u2066-\u2069]/.test(text), `${name} shows what turns text around`);
  }
  assert.equal(await page.evaluate(() => window.hacked), undefined);
  assert.equal(await page.title(), `${HOSTILE[1]} – Lifetrace`);
  quiet();
});

test("hostile addresses are text as well", { timeout: PATIENCE }, async () => {
  for (const key of ["filter", "hide", "focus", "view", "metric", "trace", "zoom", "search", "find", "fn", "range", "sort", "a", "b", "__proto__"]) {
    const { page, quiet, context } = await chrome.open([app], { fragment: `view=${key === "view" ? "" : "flame"}&${key}=${encodeURIComponent(HOSTILE[1])}` });
    await page.getByRole("tabpanel").waitFor();
    assert.equal(await page.evaluate(() => window.hacked), undefined);
    assert.equal(await page.locator("img, iframe").count(), 0, key);
    quiet();
    await context.close();
  }
});

test("a name is narrowed to as that very name", { timeout: PATIENCE }, async () => {
  const { page, quiet } = await chrome.open([hostile], { fragment: "view=summary" });
  const rows = page.getByRole("table", { name: "Callsites by bytes allocated" }).getByRole("row");
  const names = await rows.getByRole("button").all();
  assert.ok(names.length >= 8, `${names.length} callsites`);
  for (let at = 0; at < names.length; at++) {
    await rows.getByRole("button").nth(at).click();
    await page.waitForFunction(() => location.hash.includes("filter="));
    await page.getByText(/20 of 220 samples/).waitFor();
    await page.goBack();
    await page.waitForFunction(() => !location.hash.includes("filter="));
  }
  quiet();
});
