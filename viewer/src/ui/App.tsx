// The page as a whole: the header with the question, the tabs, and the view that answers.

import { useMemo, useState } from "preact/hooks";
import type { Page } from "../page";
import type { Engine, Trace } from "../engine/api";
import { useAnswer } from "./answers";
import { Header } from "./Header";
import { Help } from "./Help";
import { useKeys } from "./keyboard";
import { useNavigation } from "./navigation";
import { Panel } from "./Panel";
import { Question } from "./Question";
import { Status } from "./Status";
import { Tabs } from "./Tabs";
import { useTheme } from "./theme";
import { toldMetric } from "./told";
import type { ViewProps } from "./view";
import { views } from "./views/index";

/** What the page shows of its traces. */
export function App({ engine, page }: { engine: Engine; page: Page }) {
  const navigation = useNavigation(page.options);
  const [theme, toggleTheme] = useTheme();
  const [helps, setHelps] = useState(false);
  const { address } = navigation;
  const traces = useMemo(() => page.traces.flatMap(({ trace }) => trace ?? []), [page]);
  const loaded = page.traces[address.trace] ?? page.traces[0];
  const trace = loaded?.trace ?? null;
  const metric = trace ? toldMetric(trace.facts, address.question.metric) : address.question.metric;
  const { answer, mistake } = useAnswer(trace, { ...address.question, metric });
  const shown = useMemo(() => views.filter((view) => trace && view.isFor(trace, traces)), [trace, traces]);
  const view = shown.find(({ id }) => id === address.view) ?? null;
  useKeys({ views: shown, current: view?.id ?? "", go: navigation.go, help: () => setHelps(true) });
  const props = trace && answer ? viewProps(engine, page, traces, trace, answer, navigation, theme) : null;
  return (
    <>
      <a class="skip" href="#panel" onClick={toPanel}>
        Skip to the view
      </a>
      <Header page={page} traces={traces} navigation={navigation} theme={theme} toggleTheme={toggleTheme} help={() => setHelps(true)} />
      {trace && <Question engine={engine} trace={trace} navigation={navigation} mistake={mistake} />}
      {trace && <Status engine={engine} trace={trace} answer={answer} mistake={mistake} />}
      {trace && <Tabs views={shown} current={view?.id ?? ""} go={navigation.go} />}
      <Panel problem={loaded ? loaded.problem : "There is no trace in this page."} view={view} props={props} asked={address.view} mistake={mistake} ask={navigation.ask} />
      {helps && <Help views={views} close={() => setHelps(false)} />}
    </>
  );
}

function viewProps(
  engine: Engine,
  page: Page,
  traces: Trace[],
  trace: Trace,
  answer: NonNullable<ViewProps["answer"]>,
  navigation: ReturnType<typeof useNavigation>,
  theme: ViewProps["theme"],
): ViewProps {
  const { address, ask, narrow, setState, go } = navigation;
  return {
    engine,
    traces,
    current: traces.indexOf(trace),
    trace,
    answer,
    ask: (change) => ask(change),
    narrow,
    state: address.state,
    setState,
    go,
    // Addresses count those too that could not be read.
    choose: (number) => navigation.choose(page.traces.findIndex((loaded) => loaded.trace === traces[number])),
    theme,
  };
}

/** A link into the page would change its address. */
function toPanel(event: Event): void {
  event.preventDefault();
  document.getElementById("panel")?.focus();
}
