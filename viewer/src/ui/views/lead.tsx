// The sentence that is the answer; what is bad has a sign besides its colour.

import type { ComponentChildren } from "preact";

export function Lead({ isBad, children }: { isBad?: boolean; children: ComponentChildren }) {
  return (
    <p class={isBad ? "headline bad" : "headline"}>
      {isBad && (
        <span class="sign" role="img" aria-label="Attention:">
          ▲{" "}
        </span>
      )}
      {children}
    </p>
  );
}
