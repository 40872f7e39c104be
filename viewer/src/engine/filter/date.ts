// Dates in a filter, from 1970 to 9999, by the Gregorian calendar in UTC without leap seconds.

import { Wrong, expected } from "../grammar/mistake";
import { isDigit, type Scanner } from "../grammar/scan";

const A_DATE = "a date, such as 2026-01-12T13:44:03Z";
const NO_DAY = "there is no such day from 1970 to 9999";

export function writtenDate(micros: bigint): string {
  const text = new Date(Number(micros / 1000n)).toISOString().slice(0, 19);
  const rest = (micros % 1_000_000n).toString().padStart(6, "0").replace(/0+$/, "");
  return `${text}${rest === "" ? "" : `.${rest}`}Z`;
}

/** Whether a date comes next: four digits and a hyphen. */
export function isDateNext(scanner: Scanner): boolean {
  return /^[0-9]{4}-/.test(scanner.text.slice(scanner.at, scanner.at + 5));
}

/** `2026-01-12`, `2026-01-12T13:44`, `2026-01-12 13:44:03.5 UTC`: microseconds since 1970. */
export function date(scanner: Scanner): bigint {
  const days = day(scanner);
  const micros = hasClock(scanner) ? clock(scanner) : 0n;
  zone(scanner);
  return days * 86_400_000_000n + micros;
}

function day(scanner: Scanner): bigint {
  const from = scanner.at;
  const year = number(scanner, 4);
  expect(scanner, "-");
  const month = number(scanner, 2);
  expect(scanner, "-");
  const dayOfMonth = number(scanner, 2);
  const time = Date.UTC(year, month - 1, dayOfMonth);
  const found = new Date(time);
  const exists =
    month >= 1 && month <= 12 && year >= 1970 && found.getUTCMonth() === month - 1 && found.getUTCDate() === dayOfMonth;
  if (!exists) {
    scanner.mark(from, scanner.at);
    throw new Wrong(NO_DAY);
  }
  return BigInt(time / 86_400_000);
}

/** Goes past what stands between a day and a time of day, if such a time comes next. */
function hasClock(scanner: Scanner): boolean {
  const ahead = scanner.copy();
  if (ahead.eat("T") || ahead.eat("t")) {
    scanner.become(ahead);
    return true;
  }
  const isClock = ahead.skipSpace() && /^[0-9]{2}:/.test(ahead.text.slice(ahead.at, ahead.at + 3));
  if (isClock) scanner.become(ahead);
  return isClock;
}

/** Microseconds since midnight. */
function clock(scanner: Scanner): bigint {
  const from = scanner.at;
  const hour = number(scanner, 2);
  expect(scanner, ":");
  const minute = number(scanner, 2);
  const hasSeconds = scanner.eat(":");
  const second = hasSeconds ? number(scanner, 2) : 0;
  if (hour > 23 || minute > 59 || second > 59) {
    scanner.mark(from, scanner.at);
    throw new Wrong("there is no such time of day");
  }
  return BigInt(hour * 3600 + minute * 60 + second) * 1_000_000n + (hasSeconds ? fraction(scanner) : 0n);
}

/** Microseconds, if there is a decimal point with digits. */
function fraction(scanner: Scanner): bigint {
  const ahead = scanner.copy();
  const hasPoint = ahead.eat(".");
  const all = ahead.takeWhile(isDigit);
  if (!hasPoint || all === "") return 0n;
  scanner.become(ahead);
  const digits = all.replace(/0+$/, "");
  if (digits.length > 6) throw new Wrong("not a whole number of microseconds");
  return BigInt(digits.padEnd(6, "0"));
}

/** Goes past `Z` or `UTC`, which may be left out. */
function zone(scanner: Scanner): void {
  if (scanner.isNext("+-")) {
    const from = scanner.at;
    scanner.takeWhile((next) => "+-:".includes(next) || isDigit(next));
    scanner.mark(from, scanner.at);
    throw new Wrong("a date is in UTC, as 2026-01-12T13:44:03Z is");
  }
  if (!scanner.eat("Z") && !scanner.eat("z")) scanner.eatWord("UTC");
}

function expect(scanner: Scanner, token: string): void {
  if (!scanner.eat(token)) throw expected(A_DATE);
}

/** Of so many digits. */
function number(scanner: Scanner, digits: number): number {
  const text = scanner.text.slice(scanner.at, scanner.at + digits);
  if (text.length < digits || ![...text].every(isDigit)) throw expected(A_DATE);
  scanner.eat(text);
  return Number(text);
}
