import { FailoverPolicy } from "../../api/failover/failover-policy.ts";
import { keyOf } from "../../api/kind.ts";
import { Cache } from "../../kube/cache/cache.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { colorizeFor } from "../print/color.ts";
import { untilStopped } from "../shared/signals.ts";
import { wrapLine } from "../print/wrap.ts";
import { type ProgressView, noView, screenView, tellConnection, tellLine } from "./live-screen.ts";
import { type RequestedTransition, drawProgress, progressLines, type TransitionState, transitionState } from "./progress.ts";

export interface WatchResult {
  readonly is: Exclude<TransitionState["is"], "unseen" | "running"> | "timeout" | "stopped" | "deleted";
  readonly message?: string;
  readonly policy: FailoverPolicy;
}

/** After this long, say that no controller processes it. */
const UNSEEN_MS = 15_000;

export async function follow(
  client: KubeClient,
  policy: FailoverPolicy,
  requested: RequestedTransition,
  { timeoutMs, onUpdate, quiet }: { timeoutMs: number; onUpdate?: (policy: FailoverPolicy) => void; quiet?: boolean },
): Promise<WatchResult> {
  const began = Date.now();
  const ending = Promise.withResolvers<WatchResult>();
  const over = new AbortController();
  const view = quiet ? noView : process.stdout.isTTY ? stepsView(requested, began) : lineView(requested);
  let latest = policy;
  const end = (is: WatchResult["is"], message?: string) =>
    ending.resolve({ is, policy: latest, ...(message !== undefined && { message }) });
  const update = (current: FailoverPolicy) => {
    latest = current;
    view.show(current);
    onUpdate?.(current);
    const state = transitionState(current, requested);
    if (state.is !== "unseen" && state.is !== "running") end(state.is, "message" in state ? state.message : undefined);
  };
  const { name, namespace = "" } = policy.metadata;
  const cache = new Cache(client, FailoverPolicy, { namespace, fieldSelector: `metadata.name=${name}` });
  tellConnection(cache, (line) => view.tell(line));
  cache.subscribe((change) => {
    if (keyOf(change.object) !== keyOf(policy)) return;
    // An older generation: the server does not have the request yet.
    if ((change.object.metadata.generation ?? 0) < requested.generation) return;
    if (change.type === "deleted") end("deleted");
    else update(change.object);
  });
  const timers = [
    setTimeout(() => end("timeout"), timeoutMs),
    setTimeout(() => {
      if (transitionState(latest, requested).is === "unseen")
        view.tell("No controller has processed it yet; is plumbline controller running?");
    }, UNSEEN_MS),
  ];
  void untilStopped().then(() => end("stopped"));
  update(policy);
  cache.start(over.signal);
  try {
    return await ending.promise;
  } finally {
    over.abort();
    for (const timer of timers) clearTimeout(timer);
    view.close();
  }
}

function stepsView(requested: RequestedTransition, since: number): ProgressView<FailoverPolicy> {
  const paint = colorizeFor(process.stdout);
  const lines = (policy: FailoverPolicy) => drawProgress(policy, requested, { since, now: Date.now(), paint });
  return screenView({
    lines: (policy) => lines(policy).flatMap((line) => wrapLine(line, process.stdout.columns || 80)),
    last: lines,
    hint: "Ctrl-C stops watching; the switch continues.",
  });
}

function lineView(requested: RequestedTransition): ProgressView<FailoverPolicy> {
  let before: FailoverPolicy | undefined;
  return {
    show(policy) {
      for (const line of progressLines(before, policy, requested, Date.now())) tellLine(line);
      before = policy;
    },
    tell: tellLine,
    close: () => undefined,
  };
}
