// All views, in the order of the tabs. Those that are looked at most have digits as keys.

import type { View } from "../view";
import { view as collector } from "./collector";
import { view as leaks } from "./leaks";
import { view as processes } from "./processes";
import { view as summary } from "./summary";
import { view as timeline } from "./timeline";

export const views: View[] = [summary, timeline, leaks, collector, processes];
