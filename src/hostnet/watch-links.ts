import { spawn } from "node:child_process";
import { KernelError } from "./error.ts";
import type { Places } from "./namespaces.ts";

const BACKOFF = { minMs: 100, maxMs: 30_000 };
/** One that has watched this long had not failed to start. */
const SETTLED_MS = 10_000;
/** By then it listens; what changed before it did is found by whoever the bell calls. */
const LISTENING_MS = 100;

export interface WatchOptions {
  /** Told of each end of a watch before it is started again. */
  readonly onRestart?: (cause: KernelError) => void;
}

/** Rings when a link or an address changes in either namespace, and when a change may have been missed. Runs until aborted. */
export async function watchLinks(places: Places, ring: () => void, signal: AbortSignal, options: WatchOptions = {}): Promise<void> {
  await Promise.all([places.host, places.router].map((namespace) => watch(namespace, ring, signal, options)));
}

async function watch(namespace: string | undefined, ring: () => void, signal: AbortSignal, { onRestart }: WatchOptions): Promise<void> {
  let failures = 0;
  while (!signal.aborted) {
    const started = performance.now();
    const cause = await monitor(namespace, ring, signal);
    if (signal.aborted) return;
    failures = performance.now() - started > SETTLED_MS ? 1 : failures + 1;
    onRestart?.(cause);
    await pause(backoffMs(failures), signal);
  }
}

/** Gives the reason when it has ended. */
async function monitor(namespace: string | undefined, ring: () => void, signal: AbortSignal): Promise<KernelError> {
  const args = [...(namespace === undefined ? [] : ["-n", namespace]), "monitor", "link", "address"];
  // It writes only when something happens, so it would not notice by itself that we are gone.
  const child = spawn("setpriv", ["--pdeathsig", "KILL", "--", "ip", ...args], { stdio: ["ignore", "pipe", "pipe"] });
  const { promise: ended, resolve } = Promise.withResolvers<string>();
  let words = "";
  child.stdout.on("data", ring);
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => (words += chunk));
  child.once("error", (error) => resolve(error.message)).once("close", () => resolve(words.trim()));
  const kill = () => child.kill("SIGKILL");
  signal.addEventListener("abort", kill, { once: true });
  const listening = setTimeout(ring, LISTENING_MS);
  const last = await ended;
  clearTimeout(listening);
  signal.removeEventListener("abort", kill);
  return new KernelError("Unreachable", last === "" ? "ip monitor has ended" : last, {
    command: ["ip", ...args].join(" "),
    namespace: namespace ?? "",
  });
}

function backoffMs(failures: number): number {
  const step = Math.min(BACKOFF.maxMs, BACKOFF.minMs * 2 ** failures);
  return Math.round(step * (0.5 + Math.random() / 2));
}

/** Returns early when aborted. */
function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener("abort", end, { once: true });
  });
}
