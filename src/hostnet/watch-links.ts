import { spawn } from "node:child_process";
import { KernelError } from "./error.ts";
import { keepRunning } from "./keep-running.ts";
import type { Places } from "./namespaces.ts";

/** By then it listens; what changed before it did is found by whoever the bell calls. */
const LISTENING_MS = 100;

/** Rings when a link or an address changes in either namespace, and when a change may have been missed. Runs until aborted. */
export async function watchLinks(
  places: Places,
  ring: () => void,
  signal: AbortSignal,
  onRestart?: (cause: KernelError) => void,
): Promise<void> {
  await Promise.all(
    [places.host, places.router].map((namespace) => keepRunning(() => monitor(namespace, ring, signal), signal, onRestart)),
  );
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
