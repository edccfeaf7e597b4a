import { PodNetworkConnectivityCheck } from "../../src/api/connectivity/pod-network-connectivity-check.ts";
import { commonCauses } from "../../src/connectivity/analysis/common-cause.ts";
import { type Zones, resultOf } from "../../src/connectivity/analysis/check-result.ts";
import { Cache } from "../../src/kube/cache/cache.ts";
import type { KubeClient } from "../../src/kube/client/client.ts";

/** Who makes the lab's checks writes onto each where its ends are. */
const NO_ZONES: Zones = { zoneOf: () => undefined, nodeAt: () => undefined, nodeOfPod: () => undefined };

/** What the lab's connectivity checks come to, kept up to date. */
export class Reachability {
  readonly #checks: Cache<PodNetworkConnectivityCheck>;
  #reported = "";

  constructor(client: KubeClient) {
    this.#checks = new Cache(client, PodNetworkConnectivityCheck);
  }

  start(signal: AbortSignal): void {
    this.#checks.start(signal);
  }

  lines(): string[] {
    return reachabilityLines(this.#checks.list(), Date.now());
  }

  /** The lines, where they are others than the last time. */
  news(): string[] {
    const lines = this.lines();
    const text = lines.join("\n");
    const news = text === this.#reported ? [] : lines;
    this.#reported = text;
    return news;
  }
}

/** `Connectivity: 20 of 24 reachable, 4 outages`, and below it who is to blame. */
export function reachabilityLines(checks: readonly PodNetworkConnectivityCheck[], now: number): string[] {
  if (checks.length === 0) return [];
  const results = checks.map((check) => resultOf(check, NO_ZONES, now));
  const count = (verdict: string) => results.filter((one) => one.verdict === verdict).length;
  const [failed, unknown] = [count("failed"), count("unknown")];
  const parts = [
    `${count("reached")} of ${checks.length} reachable`,
    ...(failed > 0 ? [`${failed} ${failed === 1 ? "outage" : "outages"}`] : []),
    ...(unknown > 0 ? [`${unknown} unknown`] : []),
  ];
  return [`Connectivity: ${parts.join(", ")}`, ...commonCauses(results).map(({ sentence }) => `  ${sentence}`)];
}
