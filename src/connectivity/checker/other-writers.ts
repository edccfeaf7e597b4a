import type { PodNetworkConnectivityCheck } from "../../api/connectivity/pod-network-connectivity-check.ts";
import type { Log } from "../../kube/log.ts";
import { checksOwnedElsewhere } from "../metrics.ts";
import { isStale, lastResultOf, reachableOf } from "../history/activity.ts";
import { LEASELESS_MS } from "../history/stale.ts";
import { type WriterClaim, outranks } from "./status-rules.ts";

interface Yielded {
  readonly own: WriterClaim;
  heard: number | undefined;
  timer: NodeJS.Timeout;
}

interface OthersOptions {
  readonly log: Log;
  /** Whether the watch is connected. */
  readonly isHearing: () => boolean;
  /** The check is free. */
  readonly onSilent: (key: string) => void;
}

/** Checks that are left to processes that claimed them later, as long as these report results. */
export class OtherWriters {
  readonly #options: OthersOptions;
  readonly #yielded = new Map<string, Yielded>();

  constructor(options: OthersOptions) {
    this.#options = options;
  }

  /** Whether another process has the check. `own` is the claim of this process, if it has had the check so far. */
  have(key: string, check: PodNetworkConnectivityCheck, own: WriterClaim | undefined): boolean {
    const known = this.#yielded.get(key);
    const claim = known?.own ?? own;
    if (!claim) return false;
    const reachable = reachableOf(check);
    const isOwnedElsewhere = outranks(check.status?.writer, claim) && !(reachable && isStale(reachable));
    if (isOwnedElsewhere) this.#yield(key, check, known, claim);
    else this.forget(key);
    return isOwnedElsewhere;
  }

  forget(key: string): void {
    const known = this.#yielded.get(key);
    if (!known) return;
    clearTimeout(known.timer);
    this.#yielded.delete(key);
    checksOwnedElsewhere.dec();
  }

  end(): void {
    for (const key of this.#yielded.keys()) this.forget(key);
  }

  #yield(key: string, check: PodNetworkConnectivityCheck, known: Yielded | undefined, own: WriterClaim): void {
    const heard = lastResultOf(check);
    if (!known) {
      this.#options.log.warn(
        { check: key, writer: check.status?.writer },
        "another process writes this check; leaving it to the newer one",
      );
      checksOwnedElsewhere.inc();
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
      this.#options.log.warn({ check: key }, "the other writer of this check is gone; running it here again");
      this.forget(key);
      this.#options.onSilent(key);
    }, LEASELESS_MS);
  }
}
