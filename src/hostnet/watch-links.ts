import { spawn } from "node:child_process";
import { KernelError } from "./error.ts";
import { keepRunning } from "../util/keep-running.ts";
import type { Places } from "./namespaces.ts";

/** Service addresses carry it, and nothing else does: they have no alias by which to know them, and their lifetimes are renewed all the time. */
export const SERVICE_ADDRESS_METRIC = "26740";
const RENEWED = new RegExp(String.raw`^(?:\d+: .* metric ${SERVICE_ADDRESS_METRIC} .*|\s+valid_lft .*|)$`);

/** Whether all that is said is that service addresses live on. What is cut off in the middle of a line is news. */
function isRefreshing(chunk: string): boolean {
  return chunk.endsWith("\n") && chunk.split("\n").every((text) => RENEWED.test(text));
}

/** By then it listens; what changed before it did is found by whoever the bell calls. */
const LISTENING_MS = 100;

/** Rings when a link or an address changes in either namespace, and when a change may have been missed. Runs until aborted. */
export async function watchLinks(
  places: Places,
  ring: () => void,
  signal: AbortSignal,
  onRestart?: (cause: KernelError) => void,
): Promise<void> {
  await Promise.all([places.host, places.router].map((namespace) => watchNamespace(namespace, ring, signal, onRestart)));
}

/** The same for one namespace. */
export async function watchNamespace(
  namespace: string | undefined,
  ring: () => void,
  signal: AbortSignal,
  onRestart?: (cause: KernelError) => void,
): Promise<void> {
  await keepRunning(() => monitor(namespace, ring, signal), signal, onRestart);
}

/** Gives the reason when it has ended. */
async function monitor(namespace: string | undefined, ring: () => void, signal: AbortSignal): Promise<KernelError> {
  const args = [...(namespace === undefined ? [] : ["-n", namespace]), "monitor", "link", "address"];
  // It writes only when something happens, so it would not notice by itself that we are gone.
  const child = spawn("setpriv", ["--pdeathsig", "KILL", "--", "ip", ...args], { stdio: ["ignore", "pipe", "pipe"] });
  const { promise: ended, resolve } = Promise.withResolvers<string>();
  let words = "";
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
    if (!isRefreshing(chunk)) ring();
  });
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
