// The views as tabs, by the pattern of WAI-ARIA: arrows move, the one that is shown is in the order of Tab.

import { useEffect, useRef } from "preact/hooks";
import type { View } from "./view";

interface TabsProps {
  views: View[];
  current: string;
  go(view: string): void;
}

export function Tabs({ views, current, go }: TabsProps) {
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => {
    // A narrow window shows some of them.
    list.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }, [current]);
  const move = (event: KeyboardEvent) => {
    const next = neighbour(event.key, views.findIndex(({ id }) => id === current), views.length);
    if (next === null) return;
    event.preventDefault();
    event.stopPropagation();
    go(views[next].id);
    document.getElementById(`tab-${views[next].id}`)?.focus();
  };
  return (
    <nav class="tabs" aria-label="Views">
      <div role="tablist" aria-label="Views" ref={list} onKeyDown={move}>
        {views.map(({ id, title, key }, at) => (
          <button
            type="button"
            role="tab"
            key={id}
            id={`tab-${id}`}
            aria-selected={id === current}
            aria-controls="panel"
            aria-keyshortcuts={key || undefined}
            tabIndex={id === current || (!current && at === 0) ? 0 : -1}
            title={key ? `${title} (${key})` : title}
            onClick={() => go(id)}
          >
            {title}
          </button>
        ))}
      </div>
    </nav>
  );
}

function neighbour(key: string, at: number, count: number): number | null {
  switch (key) {
    case "ArrowRight":
      return (at + 1) % count;
    case "ArrowLeft":
      return (at + count - 1) % count;
    case "Home":
      return 0;
    case "End":
      return count - 1;
    default:
      return null;
  }
}
