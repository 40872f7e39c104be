// Filters at random, for made-up traces.

import type { random } from "./made-up";

type Draw = ReturnType<typeof random>;

const TIMES = ["0", "3us", "10us", "17us", "25%", "50%", "end", "end-5us", "peak", "peak+2us", "start+8us"];
const NAMES = ["a", "b", "c", "d", "x"];

function term(draw: Draw): string {
  const time = () => draw.pick(TIMES);
  const compare = () => draw.pick(["<", "<=", "=", "!=", ">", ">="]);
  const when = () => draw.pick([`before ${time()}`, `after ${time()}`, `at ${time()}`, "3us..20us", `..${time()}`, "peak..end"]);
  const text = () => draw.pick([`=${draw.pick(NAMES)}`, `:${draw.pick(NAMES)}`, `~^[ab]`, "~(?i)^C$"]);
  return draw.pick([
    () => `allocated ${when()}`,
    () => `freed ${when()}`,
    () => `promoted ${when()}`,
    () => `alive ${when()}`,
    () => draw.pick(["freed", "promoted", "in old heap", "leaks", "premature", "peak", "long-lived", "temporary"]),
    () => `size${compare()}${draw.pick([0, 8, 24, 500])}`,
    () => `lifetime${compare()}${draw.pick(["0", "1us", "5us", "20%"])}`,
    () => "lifetime 2us..9us",
    () => `fn${text()}`,
    () => `file${draw.pick(["=a.c", "=a.c:2", ":src", "~c$"])}`,
    () => `module${draw.pick(["=x.so", ":lib", "=a.c"])}`,
    () => `innermost fn${text()}`,
    () => `thread${draw.pick(["=0", "=4", "=main", ":ai"])}`,
    () => `source${draw.pick(["=native", "=minor", "=major", "=external", "=ocaml", "=ruby", "=mmap", "=arena", ":cam"])}`,
    () => `label ${draw.pick(["build", "build=release", "build:x", "other"])}`,
  ])();
}

export function filter(draw: Draw, terms = 1 + draw.below(3)): string {
  return Array.from({ length: terms }, () => (draw.below(4) === 0 ? "not " : "") + term(draw)).join(" ");
}

const STEPS = ["a", "b", ":c", "~^[ad]", "file=b.c", "module:x"];
const PATHS = ["", "", "a", "a;b", "a;*;b", "~[ab];*;c;*;a", "b;b"];

export function frames(draw: Draw): { hide: string[]; focus: string; collapseRecursion: boolean } {
  const hide = Array.from({ length: draw.below(3) }, () => draw.pick(STEPS));
  return { hide, focus: draw.pick(PATHS), collapseRecursion: draw.below(2) === 0 };
}
