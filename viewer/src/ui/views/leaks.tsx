// What is never freed and grows, with the evidence; and what is lost, with what holds the rest.

import type { View, ViewProps } from "../view";
import { bytes } from "../parts/format";
import * as words from "../words/leaks";
import { young } from "../words/program";
import { Lead } from "./lead";
import { Growing } from "./leaks/Growing";
import { Held, Losers } from "./leaks/Lost";

function Leaks({ trace, answer, narrow, go, state, setState }: ViewProps) {
  const document = trace.documents.leaks;
  const verdict = words.verdict(trace)!;
  const lost = words.lost(trace);
  const isYoung = young(trace);
  return (
    <div class="leaks">
      {answer.canonical !== null && <p class="proviso">What grows is judged over the whole trace; the filter does not change it.</p>}
      <section class="words" aria-label="Verdict">
        <Lead isBad={verdict.isBad}>{verdict.first}</Lead>
        {verdict.rest.map((text) => (
          <p key={text}>{text}</p>
        ))}
        {isYoung && <p>{isYoung}</p>}
        {lost?.isAny && <Lead isBad>{lost.text}</Lead>}
        {lost && !lost.isAny && <p>{lost.text}</p>}
        <p class="muted">
          The limit that growth is measured by is {bytes(document.limit_bytes)}; <code>lifetrace report --view leaks --limit</code> takes another.
        </p>
      </section>
      {document.lost?.lost?.samples > 0 && <Losers lost={document.lost} trace={trace} narrow={narrow} />}
      <Growing document={document} trace={trace} narrow={narrow} go={go} opened={state.open ?? ""} open={(open) => setState({ open })} />
      {document.lost && <Held lost={document.lost} trace={trace} narrow={narrow} />}
    </div>
  );
}

export const view: View = {
  id: "leaks",
  title: "Leaks",
  key: "3",
  isFor: ({ documents }) => Boolean(documents.leaks),
  component: (props) => <Leaks {...props} />,
};
