// The browser's engine and `lifetrace report --json` are two programs that must agree: random questions go through both,
// and every number and both ends of every interval are compared, to a millionth or as far as they are printed.
//
//     node test/agree/run.mjs LIFETRACE [COUNT] [--seed N] [--only VIEW] [TRACE...]
//
// Each view is asked of each trace once without a filter, then COUNT (200) random combinations follow.

import { spawnSync } from "node:child_process";
import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { exported, folder, loadEngine } from "./pages.mjs";
import { filter, frames, generator, vocabulary } from "./questions.mjs";
import { Differences } from "./say.mjs";
import { diff, sum, totals, VIEWS } from "./views.mjs";

const METRICS = ["allocated", "live", "peak", "objects", "byte-seconds"];
const FIXTURES = fileURLToPath(new URL("../../../fixtures/traces", import.meta.url));
const MOST = { maxBuffer: 1 << 30, encoding: "utf8" };

function options() {
  const [lifetrace, ...rest] = process.argv.slice(2);
  const taken = (name) => {
    const at = rest.indexOf(name);
    return at < 0 ? undefined : rest.splice(at, 2)[1];
  };
  const [seed = "1", only] = [taken("--seed"), taken("--only")];
  const count = /^\d+$/.test(rest[0] ?? "") ? Number(rest.shift()) : 200;
  const isTrace = (file) => /\.(lt|ctf)$/.test(file);
  const fixtures = readdirSync(FIXTURES).filter(isTrace).map((file) => join(FIXTURES, file));
  if (lifetrace === undefined) {
    console.error("usage: node test/agree/run.mjs LIFETRACE [COUNT] [--seed N] [--only VIEW] [TRACE...]");
    process.exit(2);
  }
  return { lifetrace, count, seed: Number(seed), only, traces: rest.length > 0 ? rest : fixtures };
}

const { lifetrace, count, seed, only, traces: files } = options();
const engine = await loadEngine();
const traces = files.map((file) => {
  const trace = engine.open(exported(lifetrace, file));
  return { file, trace, words: vocabulary(trace) };
});

/** What the command says; null where it refuses the question. */
function command(verb, question, files, rest) {
  const args = [verb, ...rest, "--json", "--top", "1000000", "--metric", question.metric];
  if (question.filter !== "") args.push("--filter", question.filter);
  for (const hide of question.hide) args.push("--hide", hide);
  if (question.focus !== "") args.push("--focus", question.focus);
  if (question.collapseRecursion) args.push("--collapse-recursion");
  const run = spawnSync(lifetrace, [...args, ...files], MOST);
  const shown = ["lifetrace", ...args, ...files].map((it) => (/^[\w./=-]+$/.test(it) ? it : `'${it.replaceAll("'", `'\\''`)}'`)).join(" ");
  if (run.status !== 0) return { json: null, shown, said: run.stderr.trim() };
  return { json: JSON.parse(run.stdout), shown, said: "" };
}

const sums = { combinations: 0, numbers: 0, failures: 0, refused: 0, partial: 0 };

function judged(differences, shown) {
  sums.combinations++;
  sums.numbers += differences.compared;
  if (differences.found.length === 0) return;
  sums.failures++;
  console.log(`\n${shown}`);
  differences.found.slice(0, 8).forEach((text) => console.log(`  ${text}`));
  if (differences.found.length > 8) console.log(`  and ${differences.found.length - 8} more`);
}

function ask({ file, trace }, name, question) {
  const { view = name, options: more = [], metrics, metric } = VIEWS[name];
  const asked = { ...question, metric: metric ?? (metrics ? question.metric : "allocated") };
  const { json, shown, said } = command("report", asked, [file], ["--view", view, ...more]);
  const differences = new Differences(trace.facts.in_import !== null);
  try {
    const answer = trace.ask(asked);
    // Views and metrics that an import does not tell are not offered by the interface.
    if (/: the (view|metric) \w[\w-]* cannot be answered: /.test(said)) sums.refused++;
    else if (json === null || "message" in answer) {
      sums.refused++;
      if (json !== null) differences.say("question", "an answer", answer.message);
      else if (!("message" in answer)) differences.say("question", said, "an answer");
      else if (!said.includes(answer.message)) differences.say("question", said, answer.message);
    } else {
      sums.partial += Number(answer.samples > 0 && answer.samples < trace.sampleCount);
      totals(differences, json, answer);
      VIEWS[name].compare(differences, json, answer, trace);
    }
  } catch (error) {
    differences.say("engine", "an answer", error.stack);
  }
  judged(differences, shown);
}

function askDiff(before, after, question, by) {
  const { json, shown, said } = command("diff", question, [before.file, after.file], ["--by", by, "--all"]);
  const differences = new Differences();
  try {
    const answers = [before, after].map(({ trace }) => trace.ask(question));
    if (/ cannot be answered: /.test(said)) sums.refused++;
    else if (json === null) differences.say("question", said, "an answer");
    else diff(differences, json, engine.compare([answers[0]], [answers[1]]), by);
  } catch (error) {
    differences.say("engine", "an answer", error.stack);
  }
  judged(differences, shown);
}

/** Several traces added up. */
function askSum(several, question, inverted) {
  const rest = inverted === null ? ["--view", "hot"] : ["--view", "tree", ...(inverted ? ["--inverted"] : [])];
  const { json, shown, said } = command("report", question, several.map(({ file }) => file), rest);
  const differences = new Differences();
  try {
    if (/ cannot be answered: /.test(said)) sums.refused++;
    else if (json === null) differences.say("question", said, "an answer");
    else sum(differences, json, engine.together(several.map(({ trace }) => trace.ask(question))), inverted);
  } catch (error) {
    differences.say("engine", "an answer", error.stack);
  }
  judged(differences, shown);
}

/** Mostly one that chooses some samples and leaves out others, by what the engine says; else any. */
function drawn({ trace, words }) {
  let text = filter(random, words);
  for (let more = random.below(4) * 3; more > 0; more--) {
    const { samples = 0 } = trace.ask({ ...plain, filter: text });
    if (samples > 0 && samples < trace.sampleCount) break;
    text = filter(random, words);
  }
  return text;
}

const plain = { filter: "", metric: "allocated", hide: [], focus: "", collapseRecursion: false };
const names = Object.keys(VIEWS).filter((name) => only === undefined || name === only || VIEWS[name].view === only);
const random = generator(seed);
if (only !== "diff" && only !== "sum") {
  for (const trace of traces) for (const name of names) ask(trace, name, plain);
}
for (let at = 0; at < count; at++) {
  const trace = random.pick(traces);
  const question = { filter: drawn(trace), metric: random.pick(METRICS), ...frames(random, trace.words) };
  const isDiff = only === "diff" || (only === undefined && random.below(8) === 0);
  if (isDiff) {
    askDiff(trace, random.pick(traces), { ...question, filter: random.pick(["", "leaks", "temporary", "size>64"]) }, random.pick(["callsite", "function", "tree"]));
    continue;
  }
  const isSum = only === "sum" || (only === undefined && traces.length > 2 && random.below(10) === 0);
  if (isSum) {
    const several = [...new Set([trace, random.pick(traces), random.pick(traces)])];
    const inverted = random.pick([null, false, true]);
    if (several.length > 1) askSum(several, { ...question, focus: inverted ? "" : question.focus, filter: random.pick(["", "leaks", "size>64"]) }, inverted);
    continue;
  }
  const name = random.pick(names);
  const { metrics, withoutFocus } = VIEWS[name];
  if (Array.isArray(metrics)) question.metric = random.pick(metrics);
  if (withoutFocus) question.focus = "";
  ask(trace, name, question);
}
rmSync(folder, { recursive: true, force: true });
const { combinations, numbers, failures, refused, partial } = sums;
console.log(`${combinations} questions, ${numbers} numbers compared: ${failures} questions differ (seed ${seed})`);
console.log(`${partial} of them choose some samples and leave out others, ${refused} are refused`);
process.exit(failures === 0 ? 0 : 1);
