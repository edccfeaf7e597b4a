const UNITS: Readonly<Record<string, number>> = { ns: 1e-9, us: 1e-6, µs: 1e-6, μs: 1e-6, ms: 1e-3, s: 1, m: 60, h: 3600 };
const WHOLE = /^[+-]?(0|(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$/;
const PART = /([0-9.]+)(ns|us|µs|μs|ms|s|m|h)/g;

/** Seconds of a duration in Go's format, `1m30s`; undefined if it is invalid. */
export function seconds(text: unknown): number | undefined {
  if (typeof text !== "string" || text.length > 64 || !WHOLE.test(text)) return undefined;
  let sum = 0;
  for (const [, number = "0", unit = "s"] of text.matchAll(PART)) sum += Number(number) * (UNITS[unit] ?? 0);
  // Go's precision is a nanosecond.
  const whole = Math.round(sum * 1e9) / 1e9;
  return text.startsWith("-") ? -whole : whole;
}

/** Whole seconds, at least 0: the clock of another system may be ahead. Undefined if a time is missing. */
export function secondsBetween(from: string, to: string): number;
export function secondsBetween(from: string | undefined, to: string | undefined): number | undefined;
export function secondsBetween(from: string | undefined, to: string | undefined): number | undefined {
  return from === undefined || to === undefined ? undefined : Math.max(0, Math.round((Date.parse(to) - Date.parse(from)) / 1000));
}
