// Which lines a pattern means, judged once for each line (crates/analysis/src/filter/frames.rs).

import type { FramePattern, Text } from "./filter/term";
import { type Lines, UNKNOWN } from "./names";

export function matchesText(text: Text, name: string): boolean {
  switch (text.operator) {
    case "=":
      return name === text.text;
    case ":":
      return name.includes(text.text);
    case "~":
      return text.pattern!.test(name);
  }
}

/** Exactly so are also files whose path ends with this, folder by folder. */
export function matchesPath(text: Text, path: string): boolean {
  if (text.operator !== "=") return matchesText(text, path);
  if (!path.endsWith(text.text)) return false;
  const before = path.length - text.text.length;
  return before === 0 || path[before - 1] === "/" || path[before - 1] === "\\";
}

/** By line: whether it is like this. Names that several lines have are judged once. */
export function matchingLines(pattern: FramePattern, lines: Lines): Uint8Array {
  const matches = new Uint8Array(lines.count);
  const known = new Map<string, boolean>();
  const judge = (name: string, how: (text: Text, name: string) => boolean) => {
    const verdict = known.get(name) ?? how(pattern.name, name);
    known.set(name, verdict);
    return verdict;
  };
  for (let line = 0; line < lines.count; line++) {
    matches[line] = Number(isLike(pattern, lines, line, judge));
  }
  return matches;
}

type Judge = (name: string, how: (text: Text, name: string) => boolean) => boolean;

function isLike(pattern: FramePattern, lines: Lines, line: number, judge: Judge): boolean {
  const isUnknown = (lines.flags[line]! & UNKNOWN) !== 0;
  if (pattern.about === "module") {
    const module = lines.module[line]!;
    if (module !== "") return judge(module, matchesPath);
    // Where there is no line, the file is the object file.
    return !isUnknown && lines.line[line] === 0 && judge(lines.file[line]!, matchesPath);
  }
  if (isUnknown) return false;
  switch (pattern.about) {
    case "fn":
      return judge(lines.function[line]!, matchesText) || judge(lines.plain[line]!, matchesText);
    case "file":
      return (pattern.line === null || pattern.line === lines.line[line]) && judge(lines.file[line]!, matchesPath);
    case "class": {
      const name = lines.className(line);
      return name !== null && judge(name, matchesText);
    }
  }
}
