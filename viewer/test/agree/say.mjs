// What differs between two answers, in words.

const TOLERANCE = 1e-6;

/** Differences so far. */
export class Differences {
  /** What an import does not tell is null in documents, and a number that the interface does not show. */
  constructor(isImport = false) {
    this.isImport = isImport;
    this.found = [];
    this.compared = 0;
  }

  say(place, expected, found) {
    this.found.push(`${place}: the command says ${expected}, the engine ${found}`);
  }

  /** A number that is printed with so many decimals. */
  number(place, expected, found, decimals = 3) {
    this.compared++;
    if (this.isImport && expected === null) return;
    if (expected === null || found === null || expected === undefined || found === undefined) {
      if ((expected ?? null) !== (found ?? null)) this.say(place, expected, found);
      return;
    }
    const error = Math.abs(expected - found);
    const printed = 0.5000001 * 10 ** -decimals;
    if (!(error <= printed || error <= TOLERANCE * Math.abs(expected))) this.say(place, expected, found);
  }

  equal(place, expected, found) {
    if (this.isImport && expected === null) return;
    this.compared++;
    if (expected !== found) this.say(place, JSON.stringify(expected), JSON.stringify(found));
  }

  share(place, expected, found) {
    this.number(place, expected, found, 7);
  }

  /** A `Number` of the documents. */
  measured(place, expected, found) {
    if (this.isImport && expected === null) return;
    this.number(`${place}.value`, expected.value, found.value);
    this.number(`${place}.low`, expected.low95, found.low);
    this.number(`${place}.high`, expected.high95, found.high);
  }

  /** A `Quantity` of the documents. */
  quantity(place, expected, found) {
    if (this.isImport && expected === null) return;
    this.equal(`${place}.samples`, expected.samples, found.samples);
    for (const unit of ["bytes", "objects"]) {
      this.number(`${place}.${unit}`, expected[unit], found[unit].value);
      // Of nothing sampled the document has no interval, and the engine one that says so.
      if (expected.samples === 0) continue;
      this.number(`${place}.${unit}.low`, expected[`${unit}_low95`], found[unit].low);
      this.number(`${place}.${unit}.high`, expected[`${unit}_high95`], found[unit].high);
    }
  }

  line(place, expected, found) {
    const of = (line) => [line?.function ?? null, line?.file ?? null, line?.line ?? null].join("|");
    this.equal(place, of(expected), of(found));
  }

  lines(place, expected, found) {
    const text = (lines) => lines.map((it) => [it.function, it.file, it.line, it.inlined].join("|")).join("\n");
    this.equal(place, text(expected), text(found));
  }

  /** Rows of both sides that have the same name; the order counts only where values differ. */
  rows(place, expected, found, name, compare) {
    this.equal(`${place}.length`, expected.length, found.length);
    const named = new Map();
    for (const row of found) {
      const key = name(row);
      named.set(key, [...(named.get(key) ?? []), row]);
    }
    expected.forEach((row, at) => {
      const key = name(row);
      const same = named.get(key)?.shift();
      if (same === undefined) return this.say(`${place}[${at}]`, key, "nothing of this name");
      compare(`${place}[${at}]`, row, same);
    });
  }
}
