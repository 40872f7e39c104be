// A flame graph with its tooltip, its menu and its keys. The same data as a list is `TreeList`'s.

import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useMemo, useState } from "preact/hooks";
import type { Tree } from "../../engine/api";
import { functionOf } from "../parts/names";
import type { Colouring } from "./colour";
import { layoutOf } from "./layout";
import { Menu, type MenuItem } from "./Menu";
import { beside, isWithin, nodeAt, pathOf, type Direction } from "./paths";
import type { Found } from "./search";
import { useScene } from "./useScene";

export interface FlameProps {
  /** What it is of, for screen readers. */
  label: string;
  tree: Tree;
  /** How wide nodes are; without it, their totals. */
  weight?: Float64Array;
  /** What the root is called. */
  root: string;
  colouring: Colouring;
  found: Found | null;
  zoom: string;
  onZoom(path: string): void;
  tooltip(node: number, zoomed: number): ComponentChildren;
  /** What a node is in one sentence, read out as it is selected. */
  sentence(node: number): string;
  menu(node: number): MenuItem[];
  /** More keys on a node: true if it did something. */
  onKey?(key: string, node: number): boolean;
  /** At most so many pixels high; what is deeper scrolls. */
  highest?: number;
  /** The root is at the bottom, and what is below it in the tree stands above it. */
  flipped?: boolean;
}

const ARROWS: Record<string, Direction> = { ArrowUp: "up", ArrowDown: "down", ArrowLeft: "left", ArrowRight: "right" };

const TURNED: Record<string, Direction> = { ...ARROWS, ArrowUp: "down", ArrowDown: "up" };

interface Spot {
  node: number;
  x: number;
  y: number;
}

/** The graph, the outermost row at the top. */
export function Flame(props: FlameProps) {
  const { tree, colouring, found, highest = 560, flipped = false } = props;
  const { canvas, box, scene, pixels, height, reveal } = useScene(highest, flipped);
  const [hovered, setHovered] = useState<Spot | null>(null);
  const [selected, setSelected] = useState(-1);
  const [menu, setMenu] = useState<Spot | null>(null);

  const weight = props.weight ?? tree.total;
  const layout = useMemo(() => layoutOf(tree.parent, tree.depth, weight), [tree, weight]);
  const names = useMemo(() => tree.lines.map(functionOf), [tree.lines]);
  const zoomed = useMemo(() => nodeAt(tree, layout, props.zoom), [tree, layout, props.zoom]);
  const name = (node: number) => (node === 0 ? props.root : names[tree.line[node]]);

  useLayoutEffect(() => {
    const isFound = found ? (node: number) => node > 0 && found.lines[tree.line[node]] === 1 : null;
    scene.current!.show({ layout, colouring, name, found: isFound, flipped }, zoomed);
  }, [layout, colouring, found, zoomed, props.root]);
  useEffect(() => {
    setSelected(-1);
    setHovered(null);
    setMenu(null);
  }, [layout]);
  useEffect(() => {
    scene.current!.selected = selected;
    scene.current!.hovered = hovered?.node ?? -1;
    scene.current!.redraw();
  }, [selected, hovered]);

  const zoomTo = (node: number) => props.onZoom(pathOf(tree, layout, node));
  const select = (node: number) => {
    setSelected(node);
    setHovered(null);
    if (!isWithin(layout, node, zoomed) && !isWithin(layout, zoomed, node)) zoomTo(tree.parent[node]);
    reveal(node);
  };
  const openMenu = (spot: Spot) => {
    if (spot.node < 0) return;
    setSelected(spot.node);
    setHovered(null);
    setMenu(spot);
  };
  const spotOf = (event: MouseEvent): Spot => {
    const { left, top } = canvas.current!.getBoundingClientRect();
    const [x, y] = [event.clientX - left, event.clientY - top];
    return { node: scene.current!.nodeAt(x, y), x, y };
  };
  const hover = (event: MouseEvent) => {
    const spot = spotOf(event);
    canvas.current!.style.cursor = spot.node >= 0 ? "pointer" : "default";
    setHovered(spot.node < 0 || menu ? null : spot);
  };
  const click = (event: MouseEvent) => {
    const { node } = spotOf(event);
    if (node < 0) return;
    setSelected(node);
    zoomTo(node);
  };
  const key = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const at = selected < 0 ? zoomed : selected;
    const direction = (flipped ? TURNED : ARROWS)[event.key];
    if (direction) select(selected < 0 ? zoomed : beside(layout, at, direction));
    else if (event.key === "Enter" || event.key === " ") zoomTo(at);
    else if (event.key === "Escape" || event.key === "Home") (zoomTo(0), setSelected(-1));
    else if (event.key === "Backspace") (zoomTo(tree.parent[zoomed]), setSelected(tree.parent[zoomed]));
    else if (opensMenu(event)) openMenu({ node: at, ...scene.current!.middleOf(at) });
    else if (!(at > 0 && props.onKey?.(event.key, at))) return;
    event.preventDefault();
    event.stopPropagation();
  };

  const shown = menu ? null : hovered;
  return (
    <div class="flame">
      <div
        class="flame-box"
        ref={box}
        style={{ maxHeight: `${highest}px` }}
        onScroll={() => scene.current!.scroll(box.current!.scrollTop)}
      >
        <div class="flame-rows" style={{ height: `${pixels}px` }}>
          <canvas
            ref={canvas}
            tabIndex={0}
            role="application"
            aria-roledescription="flame graph"
            aria-label={`${props.label}. Arrows walk, Enter zooms, Escape shows all, m opens a menu. The same as a list is below.`}
            style={{ height: `${height}px` }}
            onMouseMove={hover}
            onMouseLeave={() => setHovered(null)}
            onClick={click}
            onContextMenu={(event) => (event.preventDefault(), openMenu(spotOf(event)))}
            onKeyDown={key}
          />
        </div>
      </div>
      {shown && (
        <Tooltip spot={shown} width={box.current!.clientWidth}>
          {props.tooltip(shown.node, zoomed)}
        </Tooltip>
      )}
      {menu && (
        <Menu
          label={name(menu.node)}
          x={menu.x}
          y={menu.y}
          items={[{ label: "Zoom in", key: "Enter", run: () => zoomTo(menu.node) }, ...(menu.node > 0 ? props.menu(menu.node) : [])]}
          onClose={() => (setMenu(null), canvas.current?.focus())}
        />
      )}
      <p class="hidden" aria-live="polite">
        {selected >= 0 ? `${name(selected)}, ${props.sentence(selected)}` : ""}
      </p>
      {selected >= 0 && !shown && !menu && <div class="flame-selected">{props.tooltip(selected, zoomed)}</div>}
    </div>
  );
}

function opensMenu(event: KeyboardEvent): boolean {
  return event.key === "ContextMenu" || event.key === "m" || (event.key === "F10" && event.shiftKey);
}

/** Beside the mouse, and within the graph. */
function Tooltip(props: { spot: Spot; width: number; children: ComponentChildren }) {
  const { spot, width } = props;
  const own = Math.min(420, width - 16);
  const left = Math.max(8, Math.min(spot.x + 14, width - own - 8));
  return (
    <div class="tooltip" role="tooltip" style={{ left: `${left}px`, top: `${spot.y + 20}px`, maxWidth: `${own}px` }}>
      {props.children}
    </div>
  );
}
