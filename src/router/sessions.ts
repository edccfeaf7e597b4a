import { isDeepStrictEqual } from "node:util";
import { FrrPoller, type PollResult } from "../frr/session-poller.ts";
import { withSessionTimes } from "../frr/session-times.ts";
import type { Runnable } from "../kube/controller/controller.ts";
import { routerPolls, routerSessions, routerVnis } from "./metrics.ts";
import type { SessionReport, FrrState, VniReport } from "./report.ts";

/** What FRR, and the kernel for its VNIs, report at one moment. */
export interface FrrAnswer {
  readonly sessions: readonly (Omit<SessionReport, "since"> & { readonly sinceMs?: number })[];
  /** Only where the poll includes them. */
  readonly vnis?: readonly VniReport[];
  /** Changes when a daemon is restarted. */
  readonly identity: string;
  /** Whether a session with the fabric is up. */
  readonly isConnected: boolean;
}

export interface PollScope {
  readonly vnis: boolean;
}

export interface RouterSessionPollerOptions {
  poll(scope: PollScope, signal: AbortSignal): Promise<FrrAnswer>;
  /** The state of a session or VNI has changed, or FRR has stopped or begun to answer. */
  onChange(): void;
  /** A daemon was restarted and may have lost its configuration; or FRR does not answer. */
  onRestart(): void;
}

/** VNIs are many and rarely change: only one of this many polls includes them, unless something has just changed. */
const VNIS_EVERY = 5;
const VNIS_AFTER_CHANGE = 10;

/** Polls the sessions every second, and the VNIs when something has changed and every five seconds. */
export class RouterSessionPoller implements Runnable {
  readonly name = "router sessions";
  readonly #options: RouterSessionPollerOptions;
  readonly #poller: FrrPoller<FrrState>;
  /** Also while FRR does not answer: the start time of a session stays. */
  #sessions: FrrState["sessions"] = [];
  #isConnected = false;
  #polls = 0;
  #vnisUntil = VNIS_AFTER_CHANGE;

  constructor(options: RouterSessionPollerOptions) {
    this.#options = options;
    this.#poller = new FrrPoller<FrrState>({
      poll: (before, signal) => this.#poll(before, signal),
      onPoll: (outcome) => routerPolls.inc({ outcome }),
      onChange: (state = { sessions: [], vnis: [] }) => {
        this.includeVnis();
        count(state);
        options.onChange();
      },
      onRestart: () => {
        this.includeVnis();
        options.onRestart();
      },
    });
  }

  /** What FRR reported last; undefined while it does not answer. */
  get state(): FrrState | undefined {
    return this.#poller.state;
  }

  get isConnected(): boolean {
    return this.state !== undefined && this.#isConnected;
  }

  /** Something was changed, so that VNIs may follow: the next polls include them. */
  includeVnis(): void {
    this.#vnisUntil = this.#polls + VNIS_AFTER_CHANGE;
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#poller.run(signal);
  }

  async #poll(before: FrrState | undefined, signal: AbortSignal): Promise<PollResult<FrrState>> {
    this.#polls += 1;
    const scope = { vnis: !before || this.#polls <= this.#vnisUntil || this.#polls % VNIS_EVERY === 0 };
    const { sessions, vnis = before?.vnis ?? [], identity, isConnected } = await this.#options.poll(scope, signal);
    this.#isConnected = isConnected;
    this.#sessions = withSessionTimes(sessions, this.#sessions, new Date());
    const state = { sessions: this.#sessions, vnis };
    return { state, identity, isChanged: !before || !isDeepStrictEqual(comparable(before), comparable(state)) };
  }
}

function comparable({ sessions, vnis }: FrrState): unknown {
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

/** The links that a fabric session may depend on. An unnumbered one has the name of its interface; of others it is not known. */
export function linksOf(neighbor: string, links: readonly { name: string }[] = []): string[] {
  const names = links.map(({ name }) => name);
  return names.includes(neighbor) ? [neighbor] : names;
}
