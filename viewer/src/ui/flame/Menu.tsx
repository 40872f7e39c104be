// A menu at a place, for the mouse and for keys.

import { useEffect, useRef } from "preact/hooks";

export interface MenuItem {
  label: string;
  /** The key that does the same without the menu. */
  key?: string;
  disabled?: boolean;
  run(): void;
}

export function Menu(props: { label: string; x: number; y: number; items: MenuItem[]; onClose(): void }) {
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => {
    buttons(list.current!)[0]?.focus();
    const away = (event: Event) => !list.current?.contains(event.target as Node) && props.onClose();
    addEventListener("pointerdown", away);
    addEventListener("resize", props.onClose);
    return () => {
      removeEventListener("pointerdown", away);
      removeEventListener("resize", props.onClose);
    };
  }, []);
  const key = (event: KeyboardEvent) => {
    const all = buttons(list.current!);
    const at = all.indexOf(document.activeElement as HTMLButtonElement);
    if (event.key === "ArrowDown") all[(at + 1) % all.length].focus();
    else if (event.key === "ArrowUp") all[(at + all.length - 1) % all.length].focus();
    else if (event.key === "Escape" || event.key === "Tab") props.onClose();
    else if (event.key === "Enter" || event.key === " ") return event.stopPropagation();
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div class="menu" role="menu" aria-label={props.label} ref={list} onKeyDown={key} style={placed(props.x, props.y)}>
      <div class="menu-title" aria-hidden="true">
        {props.label}
      </div>
      {props.items.map((item) => (
        <button
          key={item.label}
          type="button"
          role="menuitem"
          tabIndex={-1}
          disabled={item.disabled}
          onClick={() => (props.onClose(), item.run())}
        >
          <span>{item.label}</span>
          {item.key && <kbd>{item.key}</kbd>}
        </button>
      ))}
    </div>
  );
}

function buttons(list: HTMLElement): HTMLButtonElement[] {
  return [...list.querySelectorAll<HTMLButtonElement>("button:not(:disabled)")];
}

/** Within the window, also where it opens at the right. */
function placed(x: number, y: number) {
  return { left: `max(0px, min(${x}px, 100% - 270px))`, top: `${y}px` };
}
