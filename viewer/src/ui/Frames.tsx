// What is done with backtraces: frames left out, recursion folded, a path that is looked at alone.

import { useEffect, useState } from "preact/hooks";
import type { Engine, Mistake, Question } from "../engine/api";
import { isMistake } from "./answers";
import { Explained } from "./FilterField";
import { brief } from "./parts/names";

interface FramesProps {
  engine: Engine;
  question: Question;
  mistake: Mistake | null;
  ask(change: Partial<Question>): void;
}

export function Frames({ engine, question, mistake, ask }: FramesProps) {
  const [isOpen, setOpen] = useState(false);
  const { hide, focus, collapseRecursion } = question;
  const without = (number: number) => hide.filter((_, at) => at !== number);
  return (
    <div class="frames-bar">
      <div class="pills" role="group" aria-label="Frames">
        <button type="button" class="pill quiet" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)} title="Leave frames out, fold recursion, focus on a path">
          Frames…
        </button>
        {focus && <Chip what="focus" text={focus} remove={() => ask({ focus: "" })} />}
        {hide.map((frame, at) => (
          <Chip key={`${at} ${frame}`} what="hide" text={frame} remove={() => ask({ hide: without(at) })} />
        ))}
        {collapseRecursion && <Chip what="recursion" text="collapsed" remove={() => ask({ collapseRecursion: false })} />}
      </div>
      {mistake && <Explained id="frames-mistake" text="" mistake={mistake} />}
      {isOpen && (
        <div class="frames-form">
          <Entry
            label="Hide frames"
            placeholder="a function's name, fn:PART, file:PART, module:PART"
            check={(text) => engine.parseFrames([text], "")}
            done={(text) => text && !hide.includes(text) && ask({ hide: [...hide, text] })}
          />
          <Entry
            label="Focus on a path"
            placeholder="main;*;fn:parse"
            start={focus}
            check={(text) => engine.parseFrames([], text)}
            done={(text) => ask({ focus: text })}
          />
          <label class="tick">
            <input
              type="checkbox"
              checked={collapseRecursion}
              onChange={(event) => ask({ collapseRecursion: event.currentTarget.checked })}
            />
            Collapse recursion
          </label>
        </div>
      )}
    </div>
  );
}

function Chip({ what, text, remove }: { what: string; text: string; remove(): void }) {
  return (
    <span class="pill set">
      <span class="what">{what}</span> <span class="text" title={brief(text, 2000)}>{brief(text, 60)}</span>
      <button type="button" aria-label={`Remove ${what} ${brief(text, 60)}`} onClick={remove}>
        ×
      </button>
    </span>
  );
}

interface EntryProps {
  label: string;
  placeholder: string;
  start?: string;
  check(text: string): Mistake | null;
  done(text: string): void;
}

/** A field whose text is taken by Enter, if it can be read. */
function Entry({ label, placeholder, start = "", check, done }: EntryProps) {
  const [text, setText] = useState(start);
  const [mistake, setMistake] = useState<Mistake | null>(null);
  useEffect(() => setText(start), [start]);
  const submit = (event: Event) => {
    event.preventDefault();
    const found = text ? check(text) : null;
    setMistake(found && isMistake(found) ? found : null);
    if (found) return;
    done(text);
    if (!start) setText("");
  };
  return (
    <form onSubmit={submit}>
      <label>
        <span class="label">{label}</span>
        <input
          type="text"
          value={text}
          placeholder={placeholder}
          spellcheck={false}
          autocomplete="off"
          aria-invalid={mistake !== null}
          onInput={(event) => setText(event.currentTarget.value)}
        />
      </label>
      <button type="submit">Apply</button>
      {mistake && <Explained id={`mistake-${label}`} text={text} mistake={mistake} mend={setText} />}
    </form>
  );
}
