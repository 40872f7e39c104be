// Short names of sizes, for axes.

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB"];

/** `64 KiB`. */
export function sizeName(size: number): string {
  const step = size < 1 ? 0 : Math.min(UNITS.length - 1, Math.floor(Math.log2(size) / 10));
  return `${Math.round((size / 1024 ** step) * 10) / 10} ${UNITS[step]}`;
}
