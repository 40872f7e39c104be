// All views, in the order of the tabs. Those that are looked at most have digits as keys.

import { ifTold } from "../told";
import type { View } from "../view";
import { view as callsites } from "./callsites";
import { view as classes } from "./classes";
import { view as collector } from "./collector";
import { view as diff } from "./diff";
import { view as flame } from "./flame";
import { view as functions } from "./functions";
import { view as heap } from "./heap";
import { view as leaks } from "./leaks";
import { view as lifetimes } from "./lifetimes";
import { view as paths } from "./paths";
import { view as processes } from "./processes";
import { view as sandwich } from "./sandwich";
import { view as sizes } from "./sizes";
import { view as summary } from "./summary";
import { view as temporary } from "./temporary";
import { view as threads } from "./threads";
import { view as timeline } from "./timeline";

/** Letters that the page has no other use for: `f`, `i` and `c` are taken. */
const LETTERS: Record<string, string> = { sandwich: "s", classes: "k", threads: "t", sizes: "z", temporary: "m" };

export const views: View[] = [
  summary,
  timeline,
  leaks,
  flame,
  callsites,
  paths,
  functions,
  lifetimes,
  sandwich,
  temporary,
  sizes,
  threads,
  classes,
  collector,
  heap,
  processes,
  diff,
].map((view) => ifTold({ ...view, key: view.key || LETTERS[view.id] || "" }));
