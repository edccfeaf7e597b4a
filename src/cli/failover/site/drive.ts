import { FailoverPolicy, type Role } from "../../../api/failover/failover-policy.ts";
import { keyOf } from "../../../api/kind.ts";
import { Cache } from "../../../kube/cache/cache.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { isKubeError } from "../../../kube/client/error.ts";
import { compareResourceVersions } from "../../../kube/client/resource-version.ts";
import { requestSwitch, requestText } from "../ask.ts";
import { type ProgressView, tellConnection } from "../live-screen.ts";
import { CliError } from "../../shared/exit.ts";
import { isOver, type SiteMember } from "./member.ts";
import { wavesOf } from "../waves.ts";
import { plural } from "../../../util/text.ts";

export interface SiteView extends ProgressView<readonly SiteMember[]> {
  /** `changed` has the earlier version of the member that changed. */
  show(members: readonly SiteMember[], changed?: { readonly member: SiteMember; readonly before: FailoverPolicy }): void;
}

interface DriveOptions {
  readonly to: Role;
  readonly namespace: string | undefined;
  readonly timeoutMs: number;
  readonly waveTimeoutMs: number;
  /** If false, the switches are requested without waiting for them. */
  readonly wait: boolean;
  readonly view: SiteView;
  /** Resolves when the user stops watching. */
  readonly stopped: Promise<unknown>;
}

/** Requests in parallel: enough for a wave to start within a second. */
const AT_ONCE = 16;

export type DriveResult = "over" | "timeout" | "stopped";

/** Starts wave after wave, each after the previous one completed or timed out. Started switches continue without this process. */
export async function drive(client: KubeClient, members: readonly SiteMember[], options: DriveOptions): Promise<DriveResult> {
  const { to, namespace, wait, view } = options;
  const over = new AbortController();
  const ended = Promise.withResolvers<DriveResult>();
  const timer = setTimeout(() => ended.resolve("timeout"), options.timeoutMs);
  void options.stopped.then(() => ended.resolve("stopped"));
  const watch = new MemberWatch(members, view);
  if (wait) watch.start(client, namespace, over.signal);
  try {
    const waves = wavesOf(members, to);
    for (const [at, { number, members: wave }] of waves.entries()) {
      if (waves.length > 1) view.tell(`Wave ${number}: ${plural(wave.length, "policy", "policies")}`);
      await each(wave, AT_ONCE, (member) => begin(client, member, members, options));
      view.show(members);
      if (!wait) continue;
      const isLast = at === waves.length - 1;
      const state = await Promise.race([watch.over(wave, over.signal, isLast ? undefined : options.waveTimeoutMs), ended.promise]);
      if (state === "timeout" || state === "stopped") return state;
      if (state === "late") view.tell(`Wave ${number} is not done after ${options.waveTimeoutMs / 1000}s; starting the next one`);
    }
    const state = wait ? await Promise.race([watch.over(members, over.signal), ended.promise]) : "over";
    return state === "late" ? "timeout" : state;
  } finally {
    clearTimeout(timer);
    over.abort();
    view.close();
  }
}

async function begin(client: KubeClient, member: SiteMember, members: readonly SiteMember[], { to, view }: DriveOptions): Promise<void> {
  const { policy, force, annotations } = member;
  try {
    const answer = await requestSwitch(client, policy, { to, force, annotations }, new AbortController().signal);
    const observed = member.policy;
    if (isNewer(answer.policy, observed)) member.policy = answer.policy;
    member.requested = { to, generation: answer.policy.metadata.generation ?? 0 };
    if (answer.changed) view.tell(requestText(answer, to, force));
    // The watch may be ahead of the response.
    if (isNewer(observed, answer.policy)) view.show(members, { member, before: answer.policy });
  } catch (error) {
    if (!(error instanceof CliError) && !isKubeError(error)) throw error;
    member.lost = { is: "failed", message: error.message };
    view.tell(`FailoverPolicy ${keyOf(policy)}: ${error.message}`);
  }
}

function isNewer(one: FailoverPolicy, other: FailoverPolicy): boolean {
  return compareResourceVersions(one.metadata.resourceVersion ?? "0", other.metadata.resourceVersion ?? "0") > 0;
}

class MemberWatch {
  readonly #members: readonly SiteMember[];
  readonly #byKey: ReadonlyMap<string, SiteMember>;
  readonly #view: SiteView;
  readonly #waiting = new Set<() => void>();

  constructor(members: readonly SiteMember[], view: SiteView) {
    this.#members = members;
    this.#byKey = new Map(members.map((member) => [keyOf(member.policy), member]));
    this.#view = view;
  }

  start(client: KubeClient, namespace: string | undefined, signal: AbortSignal): void {
    const cache = new Cache(client, FailoverPolicy, namespace === undefined ? {} : { namespace });
    tellConnection(cache, (line) => this.#view.tell(line));
    cache.subscribe(({ type, object }) => {
      const member = this.#byKey.get(keyOf(object));
      if (!member || member.lost) return;
      if (type === "deleted") member.lost = { is: "deleted", message: "it was deleted" };
      // An older generation: the server does not have the request yet.
      else if ((object.metadata.generation ?? 0) < (member.requested?.generation ?? 0)) return;
      const before = member.policy;
      member.policy = object;
      this.#view.show(this.#members, { member, before });
      for (const check of this.#waiting) check();
    });
    cache.start(signal);
  }

  /** Resolves when these members are finished, or after the timeout. */
  over(members: readonly SiteMember[], signal: AbortSignal, timeoutMs?: number): Promise<"over" | "late"> {
    return new Promise((resolve) => {
      const timer = timeoutMs === undefined ? undefined : setTimeout(() => end("late"), timeoutMs);
      const end = (state: "over" | "late") => {
        clearTimeout(timer);
        this.#waiting.delete(check);
        resolve(state);
      };
      const check = () => {
        if (members.every(isOver)) end("over");
      };
      // A timer that is left keeps the process from ending.
      signal.addEventListener("abort", () => clearTimeout(timer), { once: true });
      this.#waiting.add(check);
      check();
    });
  }
}

/** At most `most` at a time. Throws the first error after the running ones have ended. */
export async function each<T, R>(items: readonly T[], most: number, work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  const rest = items.entries();
  const worker = async () => {
    for (const [at, item] of rest) results[at] = await work(item);
  };
  const workers = Array.from({ length: Math.min(most, items.length) }, worker);
  await Promise.allSettled(workers);
  await Promise.all(workers);
  return results;
}
