const UNITS = [
  [1, "ns"],
  [1e3, "µs"],
  [1e6, "ms"],
] as const;

/** In Go's format: 2.845865ms, 1.2s, 3m0s. */
export function durationText(ms: number): string {
  const ns = Math.round(ms * 1e6);
  if (ns <= 0) return "0s";
  if (ns < 1e9) {
    const [size, unit] = UNITS.findLast(([size]) => ns >= size) ?? UNITS[0];
    return `${ns / size}${unit}`;
  }
  const minutes = Math.floor(ns / 60e9);
  const seconds = `${(ns - minutes * 60e9) / 1e9}s`;
  if (minutes === 0) return seconds;
  return minutes < 60 ? `${minutes}m${seconds}` : `${Math.floor(minutes / 60)}h${minutes % 60}m${seconds}`;
}
