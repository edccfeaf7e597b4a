import type { PodNetworkConnectivityCheck } from "../../api/connectivity/pod-network-connectivity-check.ts";
import type { Log } from "../../kube/log.ts";
import { checksYielded } from "../metrics.ts";
import { isStale, lastResultOf, reachableOf } from "../activity.ts";
import { LEASELESS_MS } from "../stale.ts";
import { type Claim, isAbove } from "./writer-claim.ts";

interface Yielded {
  readonly own: Claim;
  heard: number | undefined;
  timer: NodeJS.Timeout;
}

interface RivalsOptions {
  readonly log: Log;
  /** Whether news can reach us. */
  readonly isHearing: () => boolean;
  /** The check is free. */
  readonly onSilent: (key: string) => void;
}

/** The checks that are left to processes that began with them later, each for as long as results of it keep coming. */
export class Rivals {
  readonly #options: RivalsOptions;
  readonly #yielded = new Map<string, Yielded>();

  constructor(options: RivalsOptions) {
    this.#options = options;
  }

  /** Whether the check is somebody else's, now that it says this. `own` is given for one that has been ours so far. */
  have(key: string, check: PodNetworkConnectivityCheck, own: Claim | undefined): boolean {
    const known = this.#yielded.get(key);
    const claim = known?.own ?? own;
    if (!claim) return false;
    const reachable = reachableOf(check);
    const isHeld = isAbove(check.status?.writer, claim) && !(reachable && isStale(reachable));
    if (isHeld) this.#yield(key, check, known, claim);
    else this.forget(key);
    return isHeld;
  }

  forget(key: string): void {
    const known = this.#yielded.get(key);
    if (!known) return;
    clearTimeout(known.timer);
    this.#yielded.delete(key);
    checksYielded.dec();
  }

  end(): void {
    for (const key of this.#yielded.keys()) this.forget(key);
  }

  #yield(key: string, check: PodNetworkConnectivityCheck, known: Yielded | undefined, own: Claim): void {
    const heard = lastResultOf(check);
    if (!known) {
      this.#options.log.warn(
        { check: key, writer: check.status?.writer },
        "another process, which began later, writes this check too; it is left to that one",
      );
      checksYielded.inc();
      this.#yielded.set(key, { own, heard, timer: this.#wait(key) });
    } else if (heard !== known.heard) {
      known.heard = heard;
      known.timer.refresh();
    }
  }

  #wait(key: string): NodeJS.Timeout {
    return setTimeout(() => {
      if (!this.#options.isHearing()) {
        this.#yielded.get(key)?.timer.refresh();
        return;
      }
      this.#options.log.warn({ check: key }, "nothing more is heard of the process that this check was left to; it is made here again");
      this.forget(key);
      this.#options.onSilent(key);
    }, LEASELESS_MS);
  }
}
