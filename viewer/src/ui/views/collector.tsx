// The garbage collector: how often, for how long, what survived it, and what a larger young heap would spare.

import type { Trace } from "../../engine/api";
import { objects } from "../parts/format";
import type { View, ViewProps } from "../view";
import { measured } from "../words/documents";
import { exactly } from "../words/program";
import { Blocks } from "./collector/Blocks";
import { Collections } from "./collector/Collections";
import { Counters } from "./collector/Counters";
import { Promotion } from "./collector/Promotion";

function Collector({ trace, answer, narrow }: ViewProps) {
  const { gc, promotion } = trace.documents;
  const counted = exactly(trace);
  return (
    <div class="collector">
      {answer.canonical !== null && <p class="proviso">Collections are of the whole trace; the filter does not change them.</p>}
      {gc && (
        <section>
          <h2>Collections</h2>
          {gc.collections.length > 0 ? <Collections gc={gc} duration={trace.facts.duration} /> : <p>The trace tells of no garbage collections.</p>}
          {gc.collections.length === 0 && gc.young_heap_fills && (
            <p>The young heap was filled {objects(measured(gc.young_heap_fills))} times, so there were about as many minor collections. What survived how many cannot be told.</p>
          )}
        </section>
      )}
      {promotion && promotion.young.samples > 0 && <Promotion promotion={promotion} trace={trace} narrow={narrow} />}
      {gc && Object.keys(gc.counters).length > 0 && <Counters gc={gc} wordBytes={trace.facts.word_bytes} />}
      {counted && <p class="counted">{counted}</p>}
      {gc && gc.allocated.samples > 0 && <Blocks gc={gc} trace={trace} narrow={narrow} />}
    </div>
  );
}

function hasAny({ documents }: Trace): boolean {
  const { gc, promotion } = documents;
  const collects = gc && (gc.collections.length > 0 || gc.allocated.samples > 0);
  return Boolean(collects) || promotion?.young?.samples > 0;
}

export const view: View = {
  id: "collector",
  title: "Collector",
  key: "g",
  isFor: hasAny,
  component: (props) => <Collector {...props} />,
};
