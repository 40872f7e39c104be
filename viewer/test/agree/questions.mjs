// Questions at random: filters, metrics, and what is done to frames, about what a trace has.

/** Random numbers that are the same each time (Mulberry32). */
export function generator(seed) {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (count) => Math.floor(next() * count);
  return { next, below, pick: (from) => from[below(from.length)] };
}

const quoted = (name) => `"${name.replaceAll('"', '""')}"`;
const escaped = (name) => name.replace(/[\\^$.*+?()[\]{}|#&~\s-]/g, (it) => (/\s/.test(it) ? "." : `\\${it}`));

/** What of a trace questions can be about. */
export function vocabulary(trace) {
  const { lines } = trace.backtraces;
  const some = (names) => [...new Set(names)].filter((name) => name !== "" && !/[\n;]/.test(name) && name.length < 300);
  const classes = some(lines.function.map((_, line) => lines.className(line) ?? ""));
  return {
    functions: [...some(lines.function), "no such function"],
    plain: [...some(lines.plain), "main"],
    files: [...some(lines.file), "nowhere.c"],
    modules: [...some(lines.module), "libc.so.6"],
    classes: [...classes, "String"],
    lines: lines.line,
    threads: trace.facts.threads,
    sources: trace.facts.sources.map(({ name }) => name).filter(Boolean),
    labels: Object.entries(trace.facts.labels),
    end: trace.facts.end,
    start: trace.facts.start_unix_us,
  };
}

function moment(random, { end, start }) {
  const micros = random.below(end + 1);
  return random.pick([
    () => `${micros}us`,
    () => `${random.below(101)}%`,
    () => `${random.below(100)}.${random.below(100)}%`,
    () => "peak",
    () => `peak-${random.below(Math.ceil(end / 3) + 1)}us`,
    () => `peak+${random.below(1000)}us`,
    () => `end-${micros}us`,
    () => "start",
    () => "end",
    () => `${new Date(Math.floor((start + micros) / 1000)).toISOString()}`,
  ])();
}

function when(random, words) {
  const at = () => moment(random, words);
  return random.pick([() => `before ${at()}`, () => `after ${at()}`, () => `at ${at()}`, () => `${at()}..`, () => `..${at()}`, () => range(random, words)])();
}

/** Two moments of one kind, so that the range is not refused for being turned. */
function range(random, { end }) {
  const [a, b] = [random.below(end + 1), random.below(end + 1)].sort((x, y) => x - y);
  return random.pick([() => `${a}us..${b + 1}us`, () => `${a}us..end`, () => `start..${b + 1}us`, () => `peak..end`, () => "10%..90%"])();
}

function text(random, names) {
  const name = random.pick(names);
  const middle = [...name].slice(0, 1 + random.below(12)).join("");
  return random.pick([
    () => `=${quoted(name)}`,
    () => `:${quoted(middle)}`,
    () => `~${quoted(`^${escaped(middle)}`)}`,
    () => `~${quoted(`(?i)${escaped(middle.toUpperCase())}`)}`,
    () => `~${quoted(`${escaped(middle)}\\w*$`)}`,
    () => `~${quoted(`(${escaped(middle)}|[a-d]\\d)`)}`,
    () => `!=${quoted(name)}`,
  ])();
}

function frame(random, words) {
  const file = random.pick(words.files);
  return random.pick([
    () => `fn${text(random, words.functions)}`,
    () => `fn${text(random, words.plain)}`,
    () => `file${text(random, words.files)}`,
    () => `file=${quoted(file.split("/").at(-1))}`,
    () => `file=${quoted(file)}:${words.lines[random.below(words.lines.length)]}`,
    () => `module${text(random, words.modules)}`,
  ])();
}

function term(random, words) {
  const size = () => 2 ** random.below(18) + random.below(9);
  const span = () => random.pick([`${random.below(words.end + 1)}us`, "1ms", "10ms", "25%", "1s", "0.5%"]);
  const compare = () => random.pick(["<", "<=", ">", ">=", "=", "!="]);
  const [a, b] = [size(), size()].sort((x, y) => x - y);
  const thread = random.pick(words.threads.length === 0 ? [{ number: 0, name: null }] : words.threads);
  const [key, value] = random.pick([...words.labels, ["build", "release"]]);
  return random.pick([
    () => `allocated ${when(random, words)}`,
    () => `freed ${when(random, words)}`,
    () => `alive ${when(random, words)}`,
    () => `promoted ${when(random, words)}`,
    () => random.pick(["freed", "promoted", "in old heap", "not in old heap"]),
    () => `size${compare()}${size()}`,
    () => `size ${a}..${b + 1}`,
    () => `lifetime${compare()}${span()}`,
    () => `lifetime 0..${1 + random.below(words.end)}us`,
    () => frame(random, words),
    () => frame(random, words),
    () => `innermost ${frame(random, words)}`,
    () => `class${text(random, words.classes)}`,
    () => random.pick(["leaks", "temporary", "churn", "long-lived", "premature", "peak", "deserialised"]),
    () => `thread=${thread.number}`,
    () => (thread.name ? `thread${text(random, [thread.name])}` : "thread:work"),
    () => `source=${random.pick(["native", "minor", "major", "external", "ocaml", "ruby"])}`,
    () => (words.sources.length > 0 ? `source${text(random, words.sources)}` : "source:x"),
    () => random.pick([`label ${key}`, `label ${key}=${quoted(value)}`]),
  ])();
}

export function filter(random, words) {
  const count = random.pick([0, 1, 1, 1, 2, 2, 3]);
  const terms = Array.from({ length: count }, () => (random.below(4) === 0 ? "not " : "") + term(random, words));
  return terms.join(" ");
}

function step(random, words) {
  return random.pick([
    () => random.pick(words.functions),
    () => `fn:${[...random.pick(words.functions)].slice(0, 6).join("").trim() || "a"}`,
    () => `file:${random.pick(words.files).split("/").at(-1).slice(0, 5).trim() || "a"}`,
    () => `~^${escaped([...random.pick(words.plain)].slice(0, 4).join(""))}`,
    () => `module:${random.pick(words.modules).split("/").at(-1).slice(0, 6)}`,
  ])();
}

/** Of two questions in three, nothing is done to frames. */
export function frames(random, words) {
  if (random.below(3) > 0) return { hide: [], focus: "", collapseRecursion: random.below(5) === 0 };
  const hide = Array.from({ length: random.below(3) }, () => step(random, words));
  const steps = Array.from({ length: 1 + random.below(2) }, () => step(random, words));
  const focus = random.below(2) === 0 ? steps.join(random.pick([";", ";*;"])) : "";
  return { hide, focus, collapseRecursion: random.below(2) === 0 };
}
