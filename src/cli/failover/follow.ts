import { FailoverPolicy } from "../../api/failover/failover-policy.ts";
import { keyOf } from "../../api/kind.ts";
import { Cache } from "../../kube/cache/cache.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { print } from "../../kube/printable.ts";
import { paintFor } from "../print/color.ts";
import { untilStopped } from "../shared/signals.ts";
import { Screen } from "../live-view/screen.ts";
import { folded } from "../print/wrap.ts";
import { type Asked, drawProgress, news, type Standing, standingOf } from "./progress.ts";

/** How a watched switch ended, and the policy as it was then. */
export interface Ending {
  readonly is: Exclude<Standing["is"], "unseen" | "running"> | "timeout" | "stopped" | "deleted";
  readonly message?: string;
  readonly policy: FailoverPolicy;
}

interface View {
  show(policy: FailoverPolicy): void;
  tell(line: string): void;
  close(): void;
}

const TICK_MS = 1_000;
/** After this long somebody should be told that nobody works on it. */
const UNSEEN_MS = 15_000;

/** Shows how a switch goes until it is over, or somebody has seen enough; the switch does not mind. */
export async function follow(
  client: KubeClient,
  policy: FailoverPolicy,
  asked: Asked,
  { timeoutMs, onSeen }: { timeoutMs: number; onSeen?: (policy: FailoverPolicy) => void },
): Promise<Ending> {
  const began = Date.now();
  const ending = Promise.withResolvers<Ending>();
  const over = new AbortController();
  const view = process.stdout.isTTY ? screenView(asked, began) : lineView(asked);
  let latest = policy;
  const end = (is: Ending["is"], message?: string) => ending.resolve({ is, policy: latest, ...(message !== undefined && { message }) });
  const look = (seen: FailoverPolicy) => {
    latest = seen;
    view.show(seen);
    onSeen?.(seen);
    const standing = standingOf(seen, asked);
    if (standing.is !== "unseen" && standing.is !== "running") end(standing.is, "message" in standing ? standing.message : undefined);
  };
  const { name, namespace = "" } = policy.metadata;
  const cache = new Cache(client, FailoverPolicy, { namespace, fieldSelector: `metadata.name=${name}` });
  let lost = false;
  cache.onConnection((state) => {
    if (state === "lost") view.tell("The API server does not answer; trying again");
    else if (lost) view.tell("The API server answers again");
    lost = state === "lost";
  });
  cache.subscribe((change) => {
    if (keyOf(change.object) !== keyOf(policy)) return;
    // A server that lags behind does not know yet what was asked for.
    if ((change.object.metadata.generation ?? 0) < asked.generation) return;
    if (change.type === "deleted") end("deleted");
    else look(change.object);
  });
  const timers = [
    setTimeout(() => end("timeout"), timeoutMs),
    setTimeout(() => {
      if (standingOf(latest, asked).is === "unseen") view.tell("No controller has taken it up yet; is plumbline controller running?");
    }, UNSEEN_MS),
  ];
  void untilStopped().then(() => end("stopped"));
  look(policy);
  cache.start(over.signal);
  try {
    return await ending.promise;
  } finally {
    over.abort();
    for (const timer of timers) clearTimeout(timer);
    view.close();
  }
}

/** A table that follows the steps, on the terminal's second screen; what it showed last stays on the first. */
function screenView(asked: Asked, began: number): View {
  const screen = new Screen(process.stdout);
  const paint = paintFor(process.stdout);
  let policy: FailoverPolicy | undefined;
  let told = "";
  const lines = () => (policy ? drawProgress(policy, asked, { since: began, now: Date.now(), paint }) : []);
  const draw = () => {
    const all = [...lines(), "", ...(told === "" ? [] : [told]), "Ctrl-C stops watching; the switch goes on."];
    screen.draw(all.flatMap((line) => folded(line, process.stdout.columns || 80)));
  };
  const tick = setInterval(draw, TICK_MS);
  return {
    show(seen) {
      policy = seen;
      draw();
    },
    tell(line) {
      told = line;
      draw();
    },
    close() {
      clearInterval(tick);
      screen.close();
      print(lines().concat("").join("\n"));
    },
  };
}

function lineView(asked: Asked): View {
  let before: FailoverPolicy | undefined;
  return {
    show(policy) {
      for (const line of news(before, policy, asked, Date.now())) tell(line);
      before = policy;
    },
    tell,
    close: () => undefined,
  };
}

function tell(line: string): void {
  print(`${new Date().toLocaleTimeString("en-GB")} ${line}\n`);
}
