import type { Address } from "../../ip/address.ts";
import { ConfigurationState } from "../../api/metallb/configuration-state.ts";
import { apiVersionOf, type KubeObject, parseKey } from "../../api/kind.ts";
import type { EventRecorder } from "../../kube/events/events.ts";
import type { EventText } from "../../kube/events/event-correlator.ts";
import { speakerAnnounced } from "../metrics.ts";
import type { AddressState } from "../status/service-l2-status.ts";
import { joinFirst } from "../../util/text.ts";

interface Options {
  node: string;
  events: Pick<EventRecorder, "record">;
  state: () => KubeObject;
}

type Protocol = "bgp" | "layer2";

/** Events and the metric of announcements: recorded on start and failure, and not repeated while the state lasts. */
export class SpeakerEvents {
  readonly #options: Options;
  readonly #announced = new Map<string, readonly string[]>();
  /** The announcements whose Event is recorded. */
  readonly #reported = new Set<string>();
  readonly #rejected = new Map<string, string>();
  #strangers: readonly string[] = [];
  #stateProblem: string | undefined;

  constructor(options: Options) {
    this.#options = options;
  }

  /** This node announces `addresses`. `wasTold`: an earlier run recorded the Event. */
  announced(key: string, uid: string, protocol: Protocol, addresses: readonly Address[], wasRecorded: () => boolean): void {
    const { node } = this.#options;
    const subject = `${protocol} ${key}`;
    const before = this.#announced.get(subject) ?? [];
    const now = addresses.map(String);
    for (const ip of before) if (!now.includes(ip)) speakerAnnounced.remove({ service: key, protocol, node, ip });
    for (const ip of now) speakerAnnounced.set({ service: key, protocol, node, ip }, 1);
    if (now.length === 0) return void this.#announced.delete(subject);
    this.#announced.set(subject, now);
    const isFirst = !this.#reported.has(subject);
    this.#reported.add(subject);
    if (before.length > 0 || (isFirst && wasRecorded())) return;
    this.#record(key, uid, {
      type: "Normal",
      reason: "nodeAssigned",
      message: `announcing from node "${node}" with protocol "${protocol}"`,
    });
  }

  forget(key: string): void {
    for (const protocol of ["bgp", "layer2"]) this.#reported.delete(`${protocol} ${key}`);
    this.#rejected.delete(key);
  }

  announceFailed(key: string, uid: string, states: readonly AddressState[]): void {
    const problem = states.flatMap((state) => (state.is === "failed" ? [state.message] : [])).join("; ");
    if (problem === (this.#rejected.get(key) ?? "")) return;
    if (problem === "") return void this.#rejected.delete(key);
    this.#rejected.set(key, problem);
    const { node } = this.#options;
    this.#record(key, uid, {
      type: "Warning",
      reason: "announceFailed",
      message: `node "${node}" cannot announce with protocol "layer2": ${problem}`,
    });
  }

  drift(lines: readonly string[]): void {
    if (lines.length === 0) return;
    const quoted = lines.map((line) => `"${line}"`);
    const message = `Node ${this.#options.node}: FRR configuration drift repaired: ${joinFirst(quoted, 5)}`;
    this.#options.events.record(withKind(this.#options.state()), { type: "Warning", reason: "DriftRepaired", message });
  }

  /** Why the state file cannot be written; undefined: it is written. */
  memory(problem: string | undefined): void {
    if (problem === this.#stateProblem) return;
    this.#stateProblem = problem;
    const { node, events, state } = this.#options;
    const text: EventText =
      problem === undefined
        ? { type: "Normal", reason: "StateUsable", message: `Node ${node}: the state file can be written again` }
        : {
            type: "Warning",
            reason: "StateFileError",
            message: `Node ${node}: ${problem}; announcements continue, but the next agent starts without this state`,
          };
    events.record(withKind(state()), text);
  }

  /** Candidates without any heartbeat. */
  strangers(nodes: readonly string[]): void {
    const isNews = nodes.some((node) => !this.#strangers.includes(node));
    this.#strangers = nodes;
    if (!isNews) return;
    const message = `Node ${this.#options.node}: no heartbeats from ${joinFirst(nodes, 5)}; failover falls back to Leases and is slower. Open UDP port 7947 between nodes`;
    this.#options.events.record(withKind(this.#options.state()), { type: "Warning", reason: "HeartbeatsMissing", message });
  }

  #record(key: string, uid: string, text: EventText): void {
    this.#options.events.record({ apiVersion: "v1", kind: "Service", metadata: { ...parseKey(key), uid } }, text);
  }
}

function withKind(object: KubeObject): KubeObject {
  return { ...object, apiVersion: apiVersionOf(ConfigurationState), kind: ConfigurationState.kind };
}
