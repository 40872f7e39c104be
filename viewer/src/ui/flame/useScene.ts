// A scene for as long as its canvas is on the page: as wide as its box, and in the page's colours.

import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { ROW } from "./paint";
import { Scene } from "./scene";

/** A canvas within a box that scrolls. */
export function useScene(highest: number, flipped: boolean) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const box = useRef<HTMLDivElement>(null);
  const scene = useRef<Scene | null>(null);
  const [pixels, setPixels] = useState(ROW);
  const height = Math.min(pixels, highest);
  useLayoutEffect(() => {
    const made = new Scene(canvas.current!, canvas.current!.getContext("2d")!);
    made.onHeight = setPixels;
    scene.current = made;
    const stop = follow(box.current!, made);
    return () => (stop(), made.close());
  }, []);
  useLayoutEffect(() => {
    scene.current!.resize(box.current!.clientWidth, height);
    if (flipped) box.current!.scrollTop = pixels;
  }, [height, pixels]);
  const reveal = (node: number) => {
    const row = scene.current!.rowOf(node);
    const from = box.current!.scrollTop;
    if (row < from) box.current!.scrollTop = row;
    else if (row + ROW > from + height) box.current!.scrollTop = row + ROW - height;
  };
  return { canvas, box, scene, pixels, height, reveal };
}

function follow(box: HTMLElement, scene: Scene): () => void {
  const sizes = new ResizeObserver(() => scene.resize(box.clientWidth, Math.max(box.clientHeight, ROW)));
  sizes.observe(box);
  const themed = () => requestAnimationFrame(() => scene.readTheme());
  const attributes = new MutationObserver(themed);
  attributes.observe(document.documentElement, { attributes: true });
  const scheme = matchMedia("(prefers-color-scheme: dark)");
  scheme.addEventListener("change", themed);
  return () => {
    sizes.disconnect();
    attributes.disconnect();
    scheme.removeEventListener("change", themed);
  };
}
