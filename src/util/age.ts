const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

export function ageOf(time: unknown, now = Date.now()): string {
  const moment = typeof time === "string" ? Date.parse(time) : Number.NaN;
  return Number.isNaN(moment) ? "<unknown>" : humanDuration(now - moment);
}

/** About three digits of precision: 90s, 2m5s, 3h7m, 2d4h, 3y12d. */
export function humanDuration(ms: number): string {
  const seconds = Math.trunc(ms / SECOND);
  if (seconds < -1) return "<invalid>";
  if (seconds < 120) return `${Math.max(seconds, 0)}s`;
  const minutes = Math.trunc(ms / MINUTE);
  if (minutes < 10) return both(minutes, "m", seconds % 60, "s");
  if (minutes < 180) return `${minutes}m`;
  const hours = Math.trunc(ms / HOUR);
  if (hours < 8) return both(hours, "h", minutes % 60, "m");
  if (hours < 48) return `${hours}h`;
  const days = Math.trunc(hours / 24);
  if (hours < 24 * 8) return both(days, "d", hours % 24, "h");
  if (hours < 24 * 365 * 2) return `${days}d`;
  const years = Math.trunc(days / 365);
  return hours < 24 * 365 * 8 ? both(years, "y", days % 365, "d") : `${years}y`;
}

function both(large: number, unit: string, small: number, smallUnit: string): string {
  return small === 0 ? `${large}${unit}` : `${large}${unit}${small}${smallUnit}`;
}
