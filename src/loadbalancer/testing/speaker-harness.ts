import type { Fragment } from "../../frr/fragment.ts";
import { createLog } from "../../kube/log.ts";
import type { Failure } from "../../resilience/failure.ts";
import type { ReachedPeers } from "../announcement/peers.ts";
import { node as nodeView } from "./announcement-fixtures.ts";
import { node, objects } from "./config-fixtures.ts";
import type { Impairment } from "../../kube/cache/unreadable-kinds.ts";
import type { Finding } from "../status/configuration-state.ts";
import type { AddressState } from "../status/service-l2-status.ts";
import type { BgpWanted } from "../speaker/bgp/apply.ts";
import { NOTHING_REFUSED } from "../speaker/bgp/rejected.ts";
import type { SpokenSession } from "../speaker/bgp/sessions.ts";
import type { Drivers } from "../speaker/drivers.ts";
import { SpeakerMemory } from "../speaker/stored-decisions.ts";
import type { Reports } from "../speaker/status-writers.ts";
import { Speaker } from "../speaker/speaker.ts";
import { Tidings } from "../speaker/events.ts";

const log = createLog({ level: "silent" });

/** A speaker on node `a`, with an FRR and a local network that do as the test says. */
export class Stage {
  readonly rung: string[] = [];
  readonly findings: { finding: Finding | undefined; impairment: Impairment | undefined }[] = [];
  /** Who hears each Service. */
  readonly services = new Map<string, readonly string[]>();
  refusals = NOTHING_REFUSED;
  readonly passes: string[][] = [];
  readonly knownAs: (string | undefined)[] = [];
  readonly held: string[][] = [];
  readonly events: string[] = [];
  readonly l2: string[] = [];
  hasSaidL2 = false;
  hasSaidBgp = false;
  settled = 0;
  readonly remembered: [string, string][] = [];
  spoken: SpokenSession[] | undefined;
  readonly forgotten: string[][] = [];
  readonly memory: SpeakerMemory;
  readonly speaker: Speaker;
  failures: Failure[] = [];
  broken: Error | undefined;
  applied: Fragment[] = [];
  addressState: AddressState = { is: "probing" };

  constructor(directory: string) {
    this.memory = new SpeakerMemory(directory, log);
    const drivers: Drivers = {
      bgp: (applied) => {
        this.applied = [...applied];
        const driver = {
          applied: this.applied,
          refusals: NOTHING_REFUSED,
          settled: () => Promise.resolve(void this.settled++),
          apply: ({ config, services, node }: BgpWanted) => {
            if (this.broken) return Promise.reject(this.broken);
            this.knownAs.push(node.internalIPv4);
            this.passes.push([...config.peers.keys(), ...services.keys()]);
            for (const name of config.peers.keys()) {
              if (!this.failures.some((failure) => failure.name === name)) this.applied.push({ owner: `BGPPeer/${name}`, lines: [] });
            }
            driver.refusals = this.refusals;
            return Promise.resolve({ failures: this.failures, changed: 0, drift: [] });
          },
        };
        return driver;
      },
      l2: {
        set: (wanted) => this.held.push(wanted.map(({ address }) => String(address))),
        state: () => this.addressState,
        candidates: {
          eligible: (candidates) => candidates,
          strangers: [],
          remember: (pulses) => this.remembered.push(...pulses),
          pulses: new Map([["b", "silent"]]),
        },
        protection: () => ({ is: "on" }),
      },
      sessions: () => this.spoken,
      forgetSessions: (gone) => this.forgotten.push([...gone]),
    };
    const reports = {
      configuration: (finding?: Finding, impairment?: Impairment) => this.findings.push({ finding, impairment }),
      sessions: () => undefined,
      service: (key: string, _uid: string, { all }: ReachedPeers) => this.services.set(key, all),
      holder: (key: string) => this.l2.push(`say ${key}`),
      hasSaidBgp: () => this.hasSaidBgp,
      hasSaidL2: () => this.hasSaidL2,
      bgp: { sweep: () => undefined },
      l2: { sweep: () => this.l2.push("sweep"), adopt: (key: string) => this.l2.push(`adopt ${key}`) },
    } as unknown as Reports;
    const tidings = new Tidings({
      node: "a",
      events: { record: (_object, { message }) => void this.events.push(message) },
      state: () => ({ metadata: { name: "speaker-a" } }),
    });
    this.speaker = new Speaker({ node: "a", drivers, reports, memory: this.memory, tidings, ring: (what) => this.rung.push(what), log });
  }

  async load(parts: Parameters<typeof objects>[0], impairment?: Impairment): Promise<void> {
    await this.speaker.place(new Map([["a", nodeView("a")]]), undefined);
    await this.speaker.load(objects({ nodes: [node("a")], ...parts }), impairment);
  }

  get last() {
    return this.findings.at(-1);
  }

  states(): Record<string, string> {
    return Object.fromEntries((this.last?.finding?.resources ?? []).map(({ kind, name, state }) => [`${kind}/${name}`, state]));
  }
}
