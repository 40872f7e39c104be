// How the documents of `lifetrace report --json` and the answers of the engine compare, view by view.

const placeName = (row) => [row.function ?? null, row.file ?? null, row.line ?? null].join("|");
/** A row with its place spelled out, as documents have it. */
const placed = (row) => ({ ...row, function: row.line?.function, file: row.line?.file, line: row.line?.line });

export const VIEWS = {
  summary: { metrics: true, compare: hot },
  hot: { metrics: true, compare: hot },
  peak: { metric: "peak", compare: hot },
  tree: { metrics: true, compare: (d, json, answer) => tree(d, json, answer.tree(false)) },
  "tree --inverted": {
    view: "tree",
    options: ["--inverted"],
    metrics: true,
    withoutFocus: true,
    compare: (d, json, answer) => tree(d, json, answer.tree(true)),
  },
  paths: { metrics: true, compare: paths },
  functions: { metrics: true, compare: functions },
  classes: { metrics: true, compare: classes },
  threads: { compare: threads },
  sizes: { compare: sizes },
  timeline: { compare: timeline },
  lifetimes: { metrics: true, compare: lifetimes },
  temporary: { metrics: ["allocated", "objects", "byte-seconds"], compare: temporary },
};

/** What all documents have. */
export function totals(d, json, answer) {
  const { allocated, promoted, peak, live_at_end: live } = json.totals;
  d.equal("filter", json.filter, answer.canonical);
  d.quantity("totals.allocated", allocated, answer.totals.allocated);
  d.quantity("totals.promoted", promoted, answer.totals.promoted);
  d.quantity("totals.peak", peak, answer.totals.peak);
  d.quantity("totals.live", live, answer.totals.live);
  if (peak !== null) d.equal("totals.peak.time", peak.time_us, answer.totals.peakTime ?? 0);
}

function hot(d, json, answer) {
  callsites(d, json, answer.callsites(), (at, one, other) => hottest(d, at, one, other, answer));
}

function callsites(d, json, found, more) {
  d.rows("callsites", json.callsites, found.map(placed), placeName, (at, one, other) => {
    d.share(`${at}.share`, one.share, other.share);
    d.quantity(`${at}.allocated`, one.allocated, other.allocated);
    d.quantity(`${at}.peak`, one.peak, other.peak);
    d.quantity(`${at}.live`, one.live_at_end, other.live);
    d.number(`${at}.byte_seconds`, one.byte_seconds, other.byteSeconds.value);
    more(at, one, other);
  });
}

/** Of `lifetrace report TRACE TRACE...`; `inverted` is null for callsites. */
export function sum(d, json, found, inverted) {
  const { allocated, promoted, peak, live_at_end: live } = json.totals;
  d.quantity("totals.allocated", allocated, found.totals.allocated);
  d.quantity("totals.promoted", promoted, found.totals.promoted);
  d.quantity("totals.peak", peak, found.totals.peak);
  d.quantity("totals.live", live, found.totals.live);
  if (inverted !== null) return tree(d, json, found.tree(inverted));
  callsites(d, json, found.callsites, (at, one, other) => {
    d.equal(`${at}.backtraces`, one.backtraces, other.backtraces);
    d.share(`${at}.hottest.share`, one.hottest_backtrace.share, other.hottestShare);
  });
}

function hottest(d, at, one, other, answer) {
  d.equal(`${at}.backtraces`, one.backtraces, other.backtraces);
  d.share(`${at}.hottest.share`, one.hottest_backtrace.share, other.hottestShare);
  const frames = answer.frames(other.hottest);
  d.lines(`${at}.hottest`, one.hottest_backtrace.frames, frames);
}

function tree(d, json, found) {
  const ways = new Ways();
  const names = found.lines.map(branchName);
  const nodes = new Map();
  const wayOf = new Uint32Array(found.parent.length);
  for (let node = 1; node < found.parent.length; node++) {
    const way = ways.on(wayOf[found.parent[node]], names[found.line[node]]);
    wayOf[node] = way;
    if (nodes.has(way)) nodes.get(way).push(node);
    else nodes.set(way, [node]);
  }
  const least = 0.005 * found.total[0] * (1 - 1e-12);
  const large = found.parent.reduce((sum, _, node) => sum + (node > 0 && found.total[node] >= least ? 1 : 0), 0);
  d.equal("tree.rows", json.tree.length, large);
  const open = [0];
  json.tree.forEach((row, at) => {
    open.length = row.depth + 1;
    open.push(ways.on(open.at(-1), branchName(row)));
    const same = nearest(nodes.get(open.at(-1)), row, found);
    if (same === undefined) return d.say(`tree[${at}]`, branchName(row), "no such node");
    d.measured(`tree[${at}].total`, row.total, { value: found.total[same], ...ends(found.interval(same)) });
    d.number(`tree[${at}].own`, row.own.value, found.own[same]);
    d.share(`tree[${at}].share`, row.share, found.total[0] > 0 ? found.total[same] / found.total[0] : 0);
  });
}

/** Ways from the root, by number: what is equal by names has one. */
class Ways {
  constructor() {
    this.known = new Map();
  }

  on(way, name) {
    const key = `${way}\n${name}`;
    const known = this.known.get(key) ?? this.known.size + 1;
    this.known.set(key, known);
    return known;
  }
}

/** Frames without names look alike, and so may ways: of several nodes the one that has as much, which is taken. */
function nearest(nodes, row, found) {
  if (nodes === undefined || nodes.length === 0) return undefined;
  const apart = (node) => Math.abs(found.total[node] - row.total.value) + Math.abs(found.own[node] - row.own.value);
  const at = nodes.reduce((best, node, here) => (apart(node) < apart(nodes[best]) ? here : best), 0);
  return nodes.splice(at, 1)[0];
}

const ends = ({ low, high }) => ({ low, high });
const branchName = (row) => [row.function ?? null, row.file ?? null, row.line ?? null, row.inlined].join("|");

function paths(d, json, answer) {
  const name = (row) => (row.frames ?? row.lines).map(branchName).join("\n");
  d.rows("paths", json.paths, answer.paths(), name, (at, one, other) => {
    d.share(`${at}.share`, one.share, other.share);
    d.share(`${at}.fresh_share`, one.fresh_share, other.freshShare);
    d.measured(`${at}.total`, one.total, other.total);
    d.measured(`${at}.fresh`, one.fresh, other.fresh);
  });
}

function functions(d, json, answer) {
  d.rows("functions", json.functions, answer.functions(), placeName, (at, one, other) => {
    d.measured(`${at}.total`, one.total, other.total);
    d.measured(`${at}.own`, one.own, other.own);
    d.share(`${at}.total_share`, one.total_share, other.totalShare);
    d.share(`${at}.own_share`, one.own_share, other.ownShare);
  });
}

function classes(d, json, answer) {
  const name = (row) => `${row.class ?? row.name ?? null}`;
  d.rows("classes", json.classes, answer.classes(), name, (at, one, other) => {
    d.measured(`${at}.value`, one.value, other.value);
    d.share(`${at}.share`, one.share, other.share);
    d.quantity(`${at}.allocated`, one.allocated, other.allocated);
    d.quantity(`${at}.live`, one.live_at_end, other.live);
    d.line(`${at}.callsite`, one.callsite, other.callsite);
    d.share(`${at}.callsite_share`, one.callsite_share, other.callsiteShare);
  });
}

function threads(d, json, answer, trace) {
  // A format without threads has one row of all, and a page none.
  if (trace.facts.threads.length === 0) return;
  const name = (row) => `${row.thread ?? row.number}`;
  d.rows("threads", json.threads, answer.threads(), name, (at, one, other) => {
    d.equal(`${at}.name`, one.name, other.name);
    d.equal(`${at}.kernel`, one.kernel_thread, other.kernel);
    d.share(`${at}.share`, one.share, other.share);
    d.quantity(`${at}.allocated`, one.allocated, other.allocated);
    d.quantity(`${at}.live`, one.live_at_end, other.live);
    if (other.freedByOthers !== null) d.quantity(`${at}.freed_by_others`, one.freed_by_others, other.freedByOthers);
    if (other.freedForOthers !== null) d.quantity(`${at}.freed_for_others`, one.freed_for_others, other.freedForOthers);
  });
}

function sizes(d, json, answer) {
  const name = (row) => `${row.least_bytes ?? row.least}..${row.most_bytes ?? row.most}`;
  d.rows("sizes", json.sizes, answer.sizes(), name, (at, one, other) => {
    d.quantity(`${at}.allocated`, one.allocated, other.allocated);
    d.quantity(`${at}.live`, one.live_at_end, other.live);
  });
}

function timeline(d, json, answer) {
  const found = answer.timeline(json.timeline.length, Infinity);
  json.timeline.forEach((one, at) => {
    const other = found.parts[at];
    d.equal(`timeline[${at}].begin`, one.begin_us, other.begin);
    d.equal(`timeline[${at}].end`, one.end_us, other.end);
    d.measured(`timeline[${at}].most`, one.most_bytes, other.most);
    d.measured(`timeline[${at}].at_end`, one.bytes_at_end, other.atEnd);
  });
  d.equal("timeline.callsites_total", json.callsites_total, found.callsitesTotal);
  d.rows("timeline.callsites", json.callsites, found.callsites.map(placed), placeName, (at, one, other) => {
    one.bytes_at_end.forEach((bytes, part) => {
      d.number(`${at}[${part}]`, bytes.value, other.atEnd[part]);
      d.number(`${at}[${part}].interval`, bytes.interval95, 1.959963984540054 * Math.sqrt(other.variance[part]));
    });
  });
}

function lifetimes(d, json, answer) {
  distribution(d, "lifetimes", json.lifetimes, answer.lifetimes());
  const found = answer.callsites().map(placed);
  d.rows("callsites", json.callsites, found, placeName, (at, one, other) => {
    d.share(`${at}.share`, one.share, other.share);
    d.quantity(`${at}.allocated`, one.allocated, other.allocated);
    d.quantity(`${at}.live`, one.live_at_end, other.live);
    distribution(d, at, one.lifetimes, answer.lifetimes(other.id));
  });
}

function distribution(d, at, { unit, time_us: time }, found) {
  if (time === null) return d.equal(`${at}.watched`, 0, found.survival.length);
  d.equal(`${at}.unit`, unit, found.unit);
  d.equal(`${at}.watched`, time.watched, found.watched);
  time.quantiles.forEach((one, number) => {
    const other = found.quantiles[number];
    d.number(`${at}.quantiles[${one.share}]`, one.value, other.value);
    d.number(`${at}.quantiles[${one.share}].low`, one.low95, other.low);
    d.number(`${at}.quantiles[${one.share}].high`, one.high95, other.high);
  });
  const name = (row) => `${row.least}`;
  d.rows(`${at}.classes`, time.classes, found.classes, name, (place, one, other) => {
    d.number(`${place}.objects`, one.objects_share, other.objectsShare, 6);
    d.number(`${place}.bytes`, one.bytes_share, other.bytesShare, 6);
  });
  d.number(`${at}.longer.objects`, time.longer.objects_share, found.longer.objectsShare, 6);
  d.number(`${at}.longer.bytes`, time.longer.bytes_share, found.longer.bytesShare, 6);
}

function temporary(d, json, answer) {
  const found = answer.temporary(10_000).map(placed);
  d.equal("temporary.below", json.below_us, 10_000);
  d.number("temporary.total", json.temporary.bytes, found.reduce((sum, row) => sum + row.temporary.bytes.value, 0));
  d.rows("callsites", json.callsites, found, placeName, (at, one, other) => {
    d.share(`${at}.share`, one.share, other.share);
    d.quantity(`${at}.temporary`, one.temporary, other.temporary);
    d.quantity(`${at}.allocated`, one.allocated, other.allocated);
    d.measured(`${at}.per_second`, one.objects_per_second, other.perSecond);
    d.measured(`${at}.alive`, one.bytes_alive_on_average, other.aliveOnAverage);
    distribution(d, `${at}.lifetimes`, one.lifetimes, answer.lifetimes(other.callsite));
    hottest(d, at, one, other, answer);
  });
}

/** Of `lifetrace diff --by callsite|function|tree`. */
export function diff(d, json, found, by) {
  for (const total of json.totals) change(d, `totals.${total.metric}`, total, found.totals[total.metric]);
  if (by === "tree") return diffTree(d, json, found.tree);
  const rows = by === "function" ? found.functions() : found.changes;
  const name = (row) => {
    const line = row.line ?? {};
    return [line.function ?? "", line.file || null, by === "function" ? null : (line.line ?? null)].join("|");
  };
  const jsonName = (row) => [unnamed(row.function), row.file ?? null, row.line ?? null].join("|");
  d.rows("changes", json.changes, rows, (row) => ("before" in row && "p_value" in row ? jsonName(row) : name(row)), (at, one, other) =>
    change(d, at, one, other),
  );
}

const unnamed = (name) => (name === "(unknown frame)" || name === "(no backtrace)" ? "" : name);

function change(d, at, one, other) {
  d.number(`${at}.before`, one.before, other.before);
  d.number(`${at}.after`, one.after, other.after);
  d.number(`${at}.change`, one.change, other.change, 6);
  d.number(`${at}.interval`, one.change_interval95, other.interval, 6);
  d.number(`${at}.p_value`, one.p_value, other.pValue, 9);
  d.equal(`${at}.significant`, one.significant, other.significant);
}

function diffTree(d, json, found) {
  const ways = new Ways();
  const nodes = new Map();
  const wayOf = new Uint32Array(found.parent.length);
  for (let node = 1; node < found.parent.length; node++) {
    // What the command writes in the place of a frame without a name.
    wayOf[node] = ways.on(wayOf[found.parent[node]], found.lines[found.line[node]].function ?? "?");
    nodes.set(wayOf[node], node);
  }
  const open = [0];
  json.changes.forEach((row, at) => {
    open.length = row.depth + 1;
    open.push(ways.on(open.at(-1), row.function));
    const node = nodes.get(open.at(-1));
    if (node === undefined) return d.say(`tree[${at}]`, row.function, "no such node");
    change(d, `tree[${at}]`, row, {
      before: found.before[node],
      after: found.after[node],
      change: found.after[node] - found.before[node],
      interval: found.changeInterval[node],
      pValue: found.pValue[node],
      significant: found.significant[node] === 1,
    });
  });
}
