import type { Address } from "../../ip/address.ts";
import { ConfigurationState } from "../../api/metallb/configuration-state.ts";
import { apiVersionOf, type KubeObject, parseKey } from "../../api/kind.ts";
import type { EventRecorder } from "../../kube/events.ts";
import type { EventText } from "../../kube/event-correlator.ts";
import { speakerAnnounced } from "../metrics.ts";
import type { AddressState } from "../status/service-l2-status.ts";

interface Options {
  node: string;
  events: Pick<EventRecorder, "record">;
  /** The ConfigurationState of this node. */
  state: () => KubeObject;
}

type Protocol = "bgp" | "layer2";

/** Events and the metric of what is announced: when something begins or fails, and never again while it lasts. */
export class Tidings {
  readonly #options: Options;
  /** By protocol and Service, the addresses that are announced. */
  readonly #announced = new Map<string, readonly string[]>();
  /** Those of which it was known already, or told. */
  readonly #told = new Set<string>();
  readonly #refused = new Map<string, string>();
  #strangers: readonly string[] = [];
  #memoryProblem: string | undefined;

  constructor(options: Options) {
    this.#options = options;
  }

  /** `addresses` are announced from here. `wasTold`: by an earlier run of ours, as far as the cluster knows. */
  announced(key: string, uid: string, protocol: Protocol, addresses: readonly Address[], wasTold: () => boolean): void {
    const { node } = this.#options;
    const subject = `${protocol} ${key}`;
    const before = this.#announced.get(subject) ?? [];
    const now = addresses.map(String);
    for (const ip of before) if (!now.includes(ip)) speakerAnnounced.remove({ service: key, protocol, node, ip });
    for (const ip of now) speakerAnnounced.set({ service: key, protocol, node, ip }, 1);
    if (now.length === 0) return void this.#announced.delete(subject);
    this.#announced.set(subject, now);
    const isFirst = !this.#told.has(subject);
    this.#told.add(subject);
    if (before.length > 0 || (isFirst && wasTold())) return;
    this.#record(key, uid, {
      type: "Normal",
      reason: "nodeAssigned",
      message: `announcing from node "${node}" with protocol "${protocol}"`,
    });
  }

  /** The Service is gone. */
  forget(key: string): void {
    for (const protocol of ["bgp", "layer2"]) this.#told.delete(`${protocol} ${key}`);
    this.#refused.delete(key);
  }

  /** The kernel did not take an address. */
  refused(key: string, uid: string, states: readonly AddressState[]): void {
    const words = states.flatMap((state) => (state.is === "refused" ? [state.words] : [])).join("; ");
    if (words === (this.#refused.get(key) ?? "")) return;
    if (words === "") return void this.#refused.delete(key);
    this.#refused.set(key, words);
    const { node } = this.#options;
    this.#record(key, uid, {
      type: "Warning",
      reason: "announceFailed",
      message: `node "${node}" cannot announce with protocol "layer2": ${words}`,
    });
  }

  /** Lines of FRR that someone else had changed and were put back. */
  drift(lines: readonly string[]): void {
    if (lines.length === 0) return;
    const shown = lines.slice(0, 5).map((line) => `"${line}"`);
    const more = lines.length > shown.length ? ` and ${lines.length - shown.length} more` : "";
    const message = `Node ${this.#options.node}: FRR had been changed by someone else; put right ${shown.join(", ")}${more}`;
    this.#options.events.record(withKind(this.#options.state()), { type: "Warning", reason: "DriftRepaired", message });
  }

  /** Why what the next agent must know is not on the disk; undefined: it is. */
  memory(problem: string | undefined): void {
    if (problem === this.#memoryProblem) return;
    this.#memoryProblem = problem;
    const { node, events, state } = this.#options;
    const text: EventText =
      problem === undefined
        ? { type: "Normal", reason: "StateUsable", message: `Node ${node}: what the next agent must know is on the disk again` }
        : {
            type: "Warning",
            reason: "StateUnusable",
            message: `Node ${node}: ${problem}; what is announced goes on, but the next agent would not know of it`,
          };
    events.record(withKind(state()), text);
  }

  /** Candidates that were never heard. */
  strangers(nodes: readonly string[]): void {
    const isNews = nodes.some((node) => !this.#strangers.includes(node));
    this.#strangers = nodes;
    if (!isNews) return;
    const shown = nodes.slice(0, 5).join(", ");
    const more = nodes.length > 5 ? ` and ${nodes.length - 5} more` : "";
    const message = `Node ${this.#options.node}: no heartbeat of ${shown}${more} arrives here; whether they live is told by their Leases alone, and taking over from them takes as long. Let the nodes reach each other on UDP port 7947`;
    this.#options.events.record(withKind(this.#options.state()), { type: "Warning", reason: "CandidateUnheard", message });
  }

  #record(key: string, uid: string, text: EventText): void {
    this.#options.events.record({ apiVersion: "v1", kind: "Service", metadata: { ...parseKey(key), uid } }, text);
  }
}

function withKind(object: KubeObject): KubeObject {
  return { ...object, apiVersion: apiVersionOf(ConfigurationState), kind: ConfigurationState.kind };
}
