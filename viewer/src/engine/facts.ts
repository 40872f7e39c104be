// What a trace says of itself, as docs/format-page.md has it.

export interface Facts {
  file: string;
  program: string;
  pid: number | null;
  command: string | null;
  end: number;
  duration: number;
  start_unix_us: number;
  clock: [number, number][];
  peak: number | null;
  exact: boolean;
  hears_all: boolean;
  word_bytes: number;
  interval_bytes: number;
  interval_objects: number;
  samples_in_trace: number;
  thinned: null | { kept: number; of: number };
  sources: {
    name: string | null;
    source: "native" | "minor" | "major" | "external";
    ocaml: boolean;
    ruby: boolean;
    unit: "byte" | "word" | "object";
    rate: number;
  }[];
  has_threads: boolean;
  threads: { number: number; name: string | null; kernel: number | null }[];
  labels: Record<string, string>;
  young_heap_bytes: number | null;
  notices: string[];
  damage: string[];
  in_import: null | { from: string; lacks: string[]; clock: string | null; caveat: string | null };
}
