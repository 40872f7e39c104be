// Text for the clipboard.

import { useState } from "preact/hooks";

/** Puts text on the clipboard, and says that it did. */
export function CopyButton(props: { text(): string; label: string }) {
  const [said, setSaid] = useState("");
  const copy = async () => {
    const worked = await copyText(props.text());
    setSaid(worked ? "Copied" : "The browser did not let it be copied");
    setTimeout(() => setSaid(""), 2000);
  };
  return (
    <span class="copy">
      <button type="button" class="quiet" onClick={copy}>
        {props.label}
      </button>
      <span role="status">{said}</span>
    </span>
  );
}

/** Puts text on the clipboard, also in a page that is a file. */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyBySelection(text);
  }
}

function copyBySelection(text: string): boolean {
  const area = document.createElement("textarea");
  area.value = text;
  area.className = "hidden";
  document.body.append(area);
  area.select();
  const worked = document.execCommand("copy");
  area.remove();
  return worked;
}
