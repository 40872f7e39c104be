// What places are called, and how filters name them. Names are hostile: they are text, never markup.

import type { Line } from "../../engine/api";

/** Longer names are cut where they are shown; they are whole where they are copied. */
const LONGEST = 400;

/** What drives terminals, ends lines, or turns the order of what is around it. */
const UNSAFE = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;

/** Text in one line that is read as it is written. */
export function printable(text: string): string {
  return text.replace(UNSAFE, (character) => `\\u{${character.charCodeAt(0).toString(16)}}`);
}

/** [`printable`], and no longer than can be read. */
export function brief(text: string, longest = LONGEST): string {
  const cut = text.length > longest ? `${text.slice(0, longest)}…` : text;
  return printable(cut);
}

/** The function of a line. */
export function functionOf(line: Line | null): string {
  if (line === null) return "(no backtrace)";
  if (line.function !== null && line.function !== "") return brief(line.function);
  if (line.function === "" || (line.file !== null && line.line !== null)) return "(unnamed function)";
  return line.code === undefined ? "(unknown frame)" : `(unknown frame 0x${line.code})`;
}

/** `file:line`, or the object file; nothing where the function's name has it all. */
export function sourceOf(line: Line | null): string {
  if (line === null) return "";
  if (line.file !== null && line.file !== "") {
    return line.line === null ? brief(line.file) : `${brief(line.file)}:${line.line}`;
  }
  const module = line.module ?? "";
  const base = baseName(module);
  return module === "" || (line.function ?? "").startsWith(`${base}+0x`) ? "" : brief(module);
}

/** The end of [`sourceOf`]: enough for somebody who knows the program. */
export function briefSource(line: Line | null): string {
  return sourceOf(line).split("/").slice(-2).join("/");
}

/** The last part of a path. */
export function baseName(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

/** Ruby's methods that are written in C have no file: their class. */
const RUBY_METHOD = /^([A-Z]\w*(?:::\w+)*)[#.]\w/;

/** What a function belongs to, for colours: its object file, or the folder of its file, or its class. */
export function groupOf(line: Line | null): string {
  if (line === null) return "";
  if (line.module !== null && line.module !== "") return baseName(line.module);
  const file = line.file ?? "";
  if (file === "") return RUBY_METHOD.exec(line.function ?? "")?.[1] ?? "";
  const slash = file.lastIndexOf("/");
  return slash > 0 ? file.slice(0, slash) : file;
}

/** A name as a filter's term has it: in quotes if it must be. */
export function quoted(name: string): string {
  const bare = name !== "" && !/\s/.test(name) && !/^["'=:~!]/.test(name) && !name.endsWith(",");
  return bare ? name : `"${name.replaceAll('"', '""')}"`;
}

/** The term that chooses what came through a function, or null if it has no name. */
export function functionTerm(line: Line | null): string | null {
  return line?.function ? `fn=${quoted(line.function)}` : null;
}

/** The term that chooses what was allocated by a callsite. */
export function callsiteTerm(line: Line | null): string | null {
  if (line?.function) return `innermost fn=${quoted(line.function)}`;
  return line?.module ? `innermost module=${quoted(line.module)}` : null;
}

/** A function as a step of `--focus` or `--hide`. */
export function frameOf(line: Line | null): string | null {
  const name = line?.function;
  if (!name) return null;
  return /[;"]|^(fn|file|module|class)[=:~]|^\s|\s$|^[=:~]/.test(name) ? `fn="${name.replaceAll('"', '""')}"` : name;
}
