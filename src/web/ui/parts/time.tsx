import { computed, signal } from "@preact/signals";

/** A clock for everything on the page that grows older. */
const now = signal(Date.now());
export function startClock(): void {
  setInterval(() => (now.value = Date.now()), 1_000);
}
export const minute = computed(() => Math.floor(now.value / 60_000) * 60_000);
export const second = computed(() => now.value);

const STEPS = [
  [86_400, "d", 3_600, "h"],
  [3_600, "h", 60, "m"],
  [60, "m", 1, "s"],
] as const;

/** `4s`, `3m 20s`, `2h 5m`, `4d 3h`: two units at most, none that is nothing. */
export function durationSince(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1_000));
  for (const [large, largeName, small, smallName] of STEPS) {
    if (seconds < large) continue;
    const rest = Math.floor((seconds % large) / small);
    return `${Math.floor(seconds / large)}${largeName}${rest > 0 ? ` ${rest}${smallName}` : ""}`;
  }
  return `${seconds}s`;
}

export function milliseconds(ms: number): string {
  if (ms >= 10_000) return durationSince(ms);
  if (ms >= 1_000) return `${(ms / 1_000).toFixed(1)} s`;
  return ms >= 10 ? `${Math.round(ms)} ms` : `${ms.toFixed(ms >= 1 ? 1 : 2)} ms`;
}

export const clockTime = (time: string | number) =>
  new Date(time).toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });

const exact = (time: string) => new Date(time).toLocaleString("sv-SE", { timeZoneName: "short" });

/** How long ago; exactly when, for those who point at it. */
export function Since({ time, prefix = "" }: { time: string | undefined; prefix?: string }) {
  if (time === undefined) return null;
  return (
    <time dateTime={time} title={exact(time)} class="since">
      {prefix}
      {durationSince(second.value - Date.parse(time))}
    </time>
  );
}
