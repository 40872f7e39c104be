// Pages as the command makes them, of recordings: every view of each, with the policy that the command writes.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { launch, PATIENCE } from "./browser.mjs";

const command = process.env.LIFETRACE_COMMAND;
const skip = command ? false : "LIFETRACE_COMMAND does not say where the command is";
const traces = process.env.LIFETRACE_TRACES;

let chrome;
before(async () => (chrome = await launch()), { timeout: PATIENCE });
after(() => chrome?.close());

for (const names of [["server-1e-5-v2.1.lt"], ["ocamlopt-1e-5.ctf"], ["managed-v2.1.lt"], ["native-python.lt"], ["lost.lt"], ["leaking.lt"], ["forked.lt", "forked.2.lt", "forked.3.lt"]]) {
  test(`the page of ${names.join(" and ")} shows every view, and asks for nothing`, { timeout: PATIENCE, skip }, async () => {
    const out = join(chrome.folder, `${names[0]}.html`);
    execFileSync(command, ["export", "-F", "html", ...names.map((name) => join(traces, name)), "-o", out]);
    const { page, quiet } = await chrome.visit(out);
    await page.getByRole("heading", { name: "In words" }).waitFor();
    for (const each of await page.getByRole("tab").all()) {
      await each.click();
      const name = (await each.textContent()).trim();
      const panel = page.getByRole("tabpanel", { name, exact: true });
      assert.equal(await panel.getByText("This view failed").count(), 0, `${name}: ${await panel.textContent()}`);
      assert.ok((await panel.textContent()).trim().length > 20, `${name} is empty`);
      assert.doesNotMatch(await panel.innerText(), /\bNaN\b|undefined|\[object|Infinity/, name);
    }
    quiet();
  });
}

/** A text report without its breaks of lines. */
const report = (name) => execFileSync(command, ["report", "--view", "leaks", join(traces, name)], { encoding: "utf8" }).split("\n\n").slice(1).join("\n").replace(/\s+/g, " ");

for (const name of ["server-1e-5-v2.1.lt", "native-python.lt", "lost.lt", "leaking.lt", "managed-v2.1.lt"]) {
  test(`of ${name} the page says what the text report says`, { timeout: PATIENCE, skip }, async () => {
    const text = report(name);
    const said = [/^.*?\.(?= [A-Z])/, /Most of the .*? was freed by the end\./, /Of what lives at the end, .*? dead\./, /\S+ \S+ are lost, .*?\)\./].flatMap((pattern) => pattern.exec(text)?.[0] ?? []);
    assert.ok(said.length > 0, text);
    const out = join(chrome.folder, `words-${name}.html`);
    execFileSync(command, ["export", "-F", "html", join(traces, name), "-o", out]);
    const { page, quiet } = await chrome.visit(out, { fragment: "view=leaks" });
    const shown = (await page.getByRole("region", { name: "Verdict" }).innerText()).replace(/\s+/g, " ");
    for (const sentence of said) assert.ok(shown.includes(sentence), `${sentence}\n${shown}`);
    quiet();
  });
}
