// Names that outlive a rebuild (crates/analysis/src/statistics/rebuilt_name.rs): without the numbers that compilers give to
// what has no name, and without Rust's hashes.

/** What compilers append to a copy or a part of a function, perhaps with a number. */
const COPIES = ["cold", "constprop", "isra", "llvm", "localalias", "lto_priv", "part", "specialized"];
/** A number after one of these is that of a nameless function. */
const NUMBERED = ["#", "$_", "'lambda", "lambda_", ".fun_", "__fun_", "(fun_"];

/** The name of a function without what changes from build to build. */
export function rebuiltName(functionName: string): string {
  const name = withoutStamp(withoutHash(withoutCopies(functionName.split("@")[0]!)));
  if (!/[0-9{]/.test(name)) return name;
  const plain = withoutNumbers(name).replaceAll("{{closure}}", "{closure}").replaceAll("{closure_env", "{closure");
  return withoutPosition(plain);
}

/** The name of a source file without its directories, which depend on who built it. */
export function rebuiltFile(file: string): string {
  return file.slice(Math.max(file.lastIndexOf("/"), file.lastIndexOf("\\")) + 1);
}

/** `f.constprop.0.cold`, `f(int) [clone .isra.3]`, `f.12`. */
function withoutCopies(functionName: string): string {
  let name = functionName;
  for (;;) {
    const shorter = withoutClone(name) ?? withoutCopy(name);
    if (shorter === null || shorter === "") return name;
    name = shorter;
  }
}

function withoutClone(name: string): string | null {
  const at = name.endsWith("]") ? name.lastIndexOf(" [clone ") : -1;
  return at < 0 ? null : name.slice(0, at);
}

function withoutCopy(name: string): string | null {
  const at = name.lastIndexOf(".");
  const last = name.slice(at + 1);
  return at >= 0 && (/^[0-9]+$/.test(last) || COPIES.includes(last)) ? name.slice(0, at) : null;
}

/** Rust's: `::h0123456789abcdef`. */
function withoutHash(name: string): string {
  return name.replace(/::h[0-9a-fA-F]{16}$/, "");
}

/** Of OCaml's symbols: `camlStdlib__List__map_456`, `camlFoo.bar_12`. */
function withoutStamp(name: string): string {
  return /^caml[A-Z]/.test(name) ? name.replace(/_[0-9]+$/, "") : name;
}

/** `f::{closure#2}`, `'lambda3'(int)`, `$_4`, `Foo.fun_567`. */
function withoutNumbers(name: string): string {
  let plain = "";
  for (const piece of name.match(/[0-9]+|[^0-9]+/g) ?? []) {
    const isNumber = /^[0-9]/.test(piece);
    const isOfNameless = isNumber && (plain === "fun_" || NUMBERED.some((before) => plain.endsWith(before)));
    plain = isOfNameless ? plain.replace(/[#_]+$/, "") : plain + piece;
  }
  return plain;
}

/** OCaml's `anon_fn[foo.ml:12,3--45]`. */
function withoutPosition(name: string): string {
  const at = name.indexOf("anon_fn[");
  const close = at < 0 ? -1 : name.indexOf("]", at);
  if (close < 0) return name;
  const position = name.slice(at + "anon_fn[".length, close);
  return `${name.slice(0, at)}anon_fn[${position.split(":")[0]}]${name.slice(close + 1)}`;
}
