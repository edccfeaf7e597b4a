const BARS = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];

/** One bar for each value, as high as it is between the lowest and the highest; `gap` stands for what has none. */
export function sparkline(values: readonly (number | undefined)[], gap: string): string {
  const known = values.filter((value) => value !== undefined);
  const [low, high] = [Math.min(...known), Math.max(...known)];
  const bar = (value: number) => BARS[high > low ? Math.round(((value - low) / (high - low)) * (BARS.length - 1)) : 0];
  return values.map((value) => (value === undefined ? gap : bar(value))).join("");
}
