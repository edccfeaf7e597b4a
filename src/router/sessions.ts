import { isDeepStrictEqual } from "node:util";
import { withSessionTimes } from "../frr/session-times.ts";
import { backoffMs } from "../util/backoff.ts";
import { sleep } from "../util/sleep.ts";
import type { Runnable } from "../kube/controller/controller.ts";
import { routerPolls, routerSessions, routerVnis } from "./metrics.ts";
import type { SessionReport, FrrState, VniReport } from "./report.ts";

/** What FRR, and the kernel of its VNIs, say at one moment. */
export interface FrrAnswer {
  readonly sessions: readonly (Omit<SessionReport, "since"> & { readonly sinceMs?: number })[];
  /** Only where they were asked for. */
  readonly vnis?: readonly VniReport[];
  /** Changes when a daemon is restarted. */
  readonly identity: string;
}

/** Whether the VNIs are asked for, too. */
export interface PollScope {
  readonly vnis: boolean;
}

export interface RouterSessionPollerOptions {
  ask(question: PollScope, signal: AbortSignal): Promise<FrrAnswer>;
  /** The state of a session or VNI has changed, or FRR has stopped or begun to answer. */
  onChange(): void;
  /** A daemon was restarted and may have lost its configuration; or FRR does not answer. */
  onRestart(): void;
}

const EVERY_MS = 1_000;
const SILENT = { minMs: 500, maxMs: 5_000 };

/** VNIs are many and rarely change: only one of this many polls includes them, unless something has just changed. */
const VNIS_EVERY = 5;
const VNIS_AFTER_CHANGE = 10;

/** Asks FRR every second how its sessions are, and its VNIs when something has changed and every five seconds. */
export class RouterSessionPoller implements Runnable {
  readonly name = "router sessions";
  readonly #options: RouterSessionPollerOptions;
  #spoken: FrrState | undefined;
  /** Also while FRR does not answer: the moment a session began outlasts a silence. */
  #sessions: FrrState["sessions"] = [];
  #identity: string | undefined;
  #asked = 0;
  #vnisUntil = VNIS_AFTER_CHANGE;

  constructor(options: RouterSessionPollerOptions) {
    this.#options = options;
  }

  /** The last answer of FRR; undefined while it does not answer. */
  get spoken(): FrrState | undefined {
    return this.#spoken;
  }

  /** Something was changed, so that VNIs may follow. */
  stir(): void {
    this.#vnisUntil = this.#asked + VNIS_AFTER_CHANGE;
  }

  async run(signal: AbortSignal): Promise<void> {
    let failures = 0;
    while (!signal.aborted) {
      try {
        this.#onChange(await this.#options.ask(this.#question(), signal), new Date());
        routerPolls.inc({ outcome: "ok" });
        failures = 0;
      } catch (error) {
        if (signal.aborted) return;
        failures += 1;
        routerPolls.inc({ outcome: codeOf(error) });
        this.#lose();
      }
      await sleep(failures === 0 ? EVERY_MS * (0.95 + Math.random() / 10) : backoffMs(failures, SILENT), signal).catch(() => {});
    }
  }

  #question(): PollScope {
    this.#asked += 1;
    return { vnis: !this.#spoken || this.#asked <= this.#vnisUntil || this.#asked % VNIS_EVERY === 0 };
  }

  #onChange(said: FrrAnswer, now: Date): void {
    this.#sessions = withSessionTimes(said.sessions, this.#sessions, now);
    const spoken: FrrState = { sessions: this.#sessions, vnis: said.vnis ?? this.#spoken?.vnis ?? [] };
    const changed = !this.#spoken || !isDeepStrictEqual(states(this.#spoken), states(spoken));
    const restarted = this.#identity !== undefined && (this.#identity !== said.identity || !this.#spoken);
    this.#spoken = spoken;
    this.#identity = said.identity;
    if (restarted) {
      this.stir();
      this.#options.onRestart();
    }
    if (!changed) return;
    this.stir();
    count(spoken);
    this.#options.onChange();
  }

  #lose(): void {
    if (!this.#spoken) return;
    this.#spoken = undefined;
    this.stir();
    count({ sessions: [], vnis: [] });
    this.#options.onRestart();
    this.#options.onChange();
  }
}

function states({ sessions, vnis }: FrrState): unknown {
  return [sessions, vnis.map(({ vni, type, vrf, state, message }) => ({ vni, type, vrf, state, message }))];
}

function count({ sessions, vnis }: FrrState): void {
  const up = sessions.filter(({ state }) => state === "Established").length;
  routerSessions.set({ state: "established" }, up);
  routerSessions.set({ state: "down" }, sessions.length - up);
  for (const type of ["L2", "L3"] as const) {
    for (const state of ["Up", "Down", "Unknown"]) {
      const found = vnis.filter((one) => one.type === type && one.state === state).length;
      routerVnis.set({ type: type.toLowerCase(), state: state.toLowerCase() }, found);
    }
  }
}

function codeOf(error: unknown): string {
  const { code } = error as { code?: unknown };
  return typeof code === "string" ? code : "Unexpected";
}
