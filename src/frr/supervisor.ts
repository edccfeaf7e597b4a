import { backoffMs } from "../util/backoff.ts";
import { pause } from "../util/sleep.ts";
import type { Daemon } from "./daemons.ts";

export type RestartCause =
  /** Its process was gone. */
  | "dead"
  /** It ran, but did not answer or commit for a minute and a half. */
  | "hung";

export interface SupervisedDaemons {
  readonly daemons: readonly Daemon[];
  /** While there is a connection, the daemon lives; its loss may mean that it died. */
  connection(daemon: Daemon): { onLoss(tell: () => void): () => void } | undefined;
  alive(daemon: Daemon): Promise<boolean>;
  answers(daemon: Daemon): Promise<boolean>;
  /** Restarts it, after killing it if it hangs. Does not throw: the next check finds out whether it worked. */
  restart(daemon: Daemon, cause: RestartCause): Promise<void>;
}

const CHECK_EVERY_MS = 1_000;
const PROBE_EVERY_MS = 10_000;
/** As watchfrr. A busy bgpd may not answer for some seconds, and a restart costs every session. */
const HUNG_AFTER_MS = 90_000;
const BACKOFF = { minMs: 500, maxMs: 30_000 };
/** After this long, earlier failures do not count. */
const STEADY_AFTER_MS = 60_000;

/** Restarts daemons that die or hang, until the signal: at once the first time, then with backoff. */
export async function keepRunning(supervised: SupervisedDaemons, signal: AbortSignal): Promise<void> {
  await Promise.all(supervised.daemons.map((daemon) => keepOneRunning(daemon, supervised, signal)));
}

async function keepOneRunning(daemon: Daemon, supervised: SupervisedDaemons, signal: AbortSignal): Promise<void> {
  let failures = 0;
  let restartedAt = -Infinity;
  let answeredAt = performance.now();
  let probedAt = performance.now();

  const problem = async (): Promise<RestartCause | undefined> => {
    if (!supervised.connection(daemon) && !(await supervised.alive(daemon))) return "dead";
    if (performance.now() - probedAt < PROBE_EVERY_MS) return undefined;
    probedAt = performance.now();
    if (await supervised.answers(daemon)) answeredAt = performance.now();
    return performance.now() - answeredAt > HUNG_AFTER_MS ? "hung" : undefined;
  };

  while (!signal.aborted) {
    const cause = await problem();
    if (signal.aborted) return;
    if (cause) {
      await supervised.restart(daemon, cause);
      if (performance.now() - restartedAt > STEADY_AFTER_MS) failures = 0;
      failures += 1;
      restartedAt = answeredAt = probedAt = performance.now();
      await pause(backoffMs(failures - 1, BACKOFF), signal);
    }
    const connection = supervised.connection(daemon);
    if (connection) await pause(PROBE_EVERY_MS * (1 + Math.random() / 5), signal, (wake) => connection.onLoss(wake));
    // Somebody who ended it on purpose has time to start it again.
    if (!supervised.connection(daemon)) await pause(CHECK_EVERY_MS * (0.9 + Math.random() / 5), signal);
  }
}
