// A part of a view that opens.

import type { ComponentChildren } from "preact";

/** Its content is made only where it is open. */
export function Disclosure(props: { title: string; open: boolean; onToggle(open: boolean): void; children: ComponentChildren }) {
  const { title, open, onToggle } = props;
  return (
    <section class="disclosure">
      <button type="button" class="disclose" aria-expanded={open} onClick={() => onToggle(!open)}>
        <span aria-hidden="true">{open ? "▾" : "▸"}</span> {title}
      </button>
      {open && props.children}
    </section>
  );
}
