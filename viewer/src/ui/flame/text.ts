// Names in blocks: measured once for each character, cut with an ellipsis.

/** Measures and cuts text of one font. Widths of characters are added up, which is exact enough to cut by. */
export class TextFit {
  private widths = new Map<string, number>();
  private whole = new Map<string, number>();

  constructor(private measure: (text: string) => number) {}

  /** The text, or as much of it as there is room for; nothing where not even three characters fit. */
  fit(text: string, room: number): string {
    if (this.widthOf(text) <= room) return text;
    const ellipsis = this.character("…");
    let [width, end] = [ellipsis, 0];
    for (const character of text) {
      width += this.character(character);
      if (width > room) break;
      end += character.length;
    }
    return end < 2 ? "" : `${text.slice(0, end)}…`;
  }

  private widthOf(text: string): number {
    const known = this.whole.get(text);
    if (known !== undefined) return known;
    let width = 0;
    for (const character of text) width += this.character(character);
    if (this.whole.size > 20_000) this.whole.clear();
    this.whole.set(text, width);
    return width;
  }

  private character(character: string): number {
    let width = this.widths.get(character);
    if (width === undefined) {
      width = this.measure(character);
      this.widths.set(character, width);
    }
    return width;
  }
}
