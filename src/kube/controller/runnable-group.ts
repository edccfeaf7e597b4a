import type { Log } from "../log.ts";
import type { Runnable } from "./controller.ts";
import { finishesWithin } from "../../util/deadline.ts";

/** Controllers stop first, so that the writers flush their last results. */
export const STOP_PHASES = ["controllers", "writers"] as const;
export type StopPhase = (typeof STOP_PHASES)[number];

export interface GroupMember {
  runnable: Runnable;
  phase: StopPhase;
}

/** Together with the release of the Lease within the 30 s that Kubernetes gives a pod. */
const STOP_MS: Record<StopPhase, number> = { controllers: 18_000, writers: 6_000 };

/** Failed: it threw. Stuck: it did not end when told to. */
export class RunnableError extends Error {
  override readonly name = "RunnableError";
  readonly code: "Failed" | "Stuck";
  readonly runnable: string;

  constructor(code: RunnableError["code"], runnable: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
    this.runnable = runnable;
  }
}

export class RunnableGroup {
  readonly #atWork = new Map<GroupMember, Promise<void>>();
  readonly #stop: Record<StopPhase, AbortController> = { controllers: new AbortController(), writers: new AbortController() };
  readonly #log: Log;
  readonly #onFailure: (error: RunnableError) => void;

  constructor(members: readonly GroupMember[], log: Log, onFailure: (error: RunnableError) => void) {
    this.#log = log;
    this.#onFailure = onFailure;
    for (const member of members) {
      const work = this.#run(member);
      this.#atWork.set(member, work);
      void work.then(() => this.#atWork.delete(member));
    }
  }

  /** Stops the phase and waits for it, with a timeout. */
  async end(phase: StopPhase): Promise<void> {
    this.#stop[phase].abort();
    const work = [...this.#atWork].filter(([member]) => member.phase === phase);
    if (await finishesWithin(STOP_MS[phase], Promise.all(work.map(([, ended]) => ended)))) return;
    const stuck = work.filter(([member]) => this.#atWork.has(member)).map(([member]) => member.runnable.name);
    throw new RunnableError(
      "Stuck",
      stuck.join(", "),
      `${stuck.join(", ")} did not end within ${STOP_MS[phase] / 1000} s after it was stopped`,
    );
  }

  async #run({ runnable, phase }: GroupMember): Promise<void> {
    const { name } = runnable;
    const { signal } = this.#stop[phase];
    this.#log.debug({ runnable: name }, "runnable started");
    try {
      await runnable.run(signal);
      this.#log.debug({ runnable: name }, "runnable ended");
    } catch (error) {
      // Many waits end by throwing the reason of their signal.
      if (signal.aborted && error === signal.reason) return;
      const why = error instanceof Error ? error.message : String(error);
      this.#onFailure(new RunnableError("Failed", name, `${name} failed: ${why}`, { cause: error }));
    }
  }
}
