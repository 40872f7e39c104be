// How wide an element is, as it changes.

import { useLayoutEffect, useRef, useState } from "preact/hooks";

export function useWidth<Kind extends HTMLElement>(first: number) {
  const of = useRef<Kind>(null);
  const [width, setWidth] = useState(first);
  useLayoutEffect(() => {
    const element = of.current;
    if (!element) return;
    setWidth(element.clientWidth);
    const sizes = new ResizeObserver(() => setWidth(element.clientWidth));
    sizes.observe(element);
    return () => sizes.disconnect();
  }, []);
  return { of, width };
}
