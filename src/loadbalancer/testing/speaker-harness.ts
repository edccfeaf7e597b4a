import type { Fragment } from "../../frr/fragment.ts";
import { createLog } from "../../kube/log.ts";
import type { Failure } from "../../resilience/failure.ts";
import type { AnnouncedPeers } from "../announcement/peers.ts";
import { node as nodeView } from "./announcement-fixtures.ts";
import { node, objects } from "./config-fixtures.ts";
import type { ConfigurationProblem } from "../reasons.ts";
import type { ConfigurationResult } from "../status/configuration-state.ts";
import type { AddressState } from "../status/service-l2-status.ts";
import type { DesiredBgp } from "../speaker/bgp/apply.ts";
import { NOTHING_REJECTED } from "../speaker/bgp/rejected.ts";
import type { SessionState } from "../speaker/bgp/sessions.ts";
import type { SpeakerBackends } from "../speaker/drivers.ts";
import { SpeakerStateStore } from "../speaker/stored-decisions.ts";
import type { StatusWriters } from "../speaker/status-writers.ts";
import { Speaker } from "../speaker/speaker.ts";
import { SpeakerEvents } from "../speaker/events.ts";

const log = createLog({ level: "silent" });

/** A speaker on node `a`, with an FRR and a local network that do as the test says. */
export class SpeakerHarness {
  readonly rung: string[] = [];
  readonly findings: { finding: ConfigurationResult | undefined; impairment: ConfigurationProblem | undefined }[] = [];
  /** The peers of each Service. */
  readonly services = new Map<string, readonly string[]>();
  rejections = NOTHING_REJECTED;
  readonly passes: string[][] = [];
  readonly knownAs: (string | undefined)[] = [];
  readonly wanted: string[][] = [];
  readonly events: string[] = [];
  readonly l2: string[] = [];
  hasL2Report = false;
  hasBgpReport = false;
  bootFileWrites = 0;
  readonly remembered: [string, string][] = [];
  spoken: SessionState[] | undefined;
  readonly forgotten: string[][] = [];
  readonly memory: SpeakerStateStore;
  readonly speaker: Speaker;
  failures: Failure[] = [];
  broken: Error | undefined;
  applied: Fragment[] = [];
  addressState: AddressState = { is: "probing" };

  constructor(directory: string) {
    this.memory = new SpeakerStateStore(directory, log);
    const drivers: SpeakerBackends = {
      bgp: (applied) => {
        this.applied = [...applied];
        const driver = {
          applied: this.applied,
          wanted: new Map(),
          rejections: NOTHING_REJECTED,
          bootFileWritten: () => Promise.resolve(void this.bootFileWrites++),
          apply: ({ config, services, node }: DesiredBgp) => {
            if (this.broken) return Promise.reject(this.broken);
            this.knownAs.push(node.internalIPv4);
            this.passes.push([...config.peers.keys(), ...services.keys()]);
            for (const name of config.peers.keys()) {
              if (!this.failures.some((failure) => failure.name === name)) this.applied.push({ owner: `BGPPeer/${name}`, lines: [] });
            }
            driver.rejections = this.rejections;
            return Promise.resolve({ failures: this.failures, changed: 0, drift: [] });
          },
        };
        return driver;
      },
      l2: {
        set: (wanted) => this.wanted.push(wanted.map(({ address }) => String(address))),
        state: () => this.addressState,
        candidates: {
          eligible: (candidates) => candidates,
          strangers: [],
          remember: (heartbeats) => this.remembered.push(...heartbeats),
          pulses: new Map([["b", "silent"]]),
        },
        protection: () => ({ is: "on" }),
        lostLinks: () => [],
      },
      sessions: () => this.spoken,
      wantPrefixes: () => undefined,
      takeLostVrfs: () => new Set(),
      forgetSessions: (gone) => this.forgotten.push([...gone]),
    };
    const reports = {
      configuration: (finding?: ConfigurationResult, readProblem?: ConfigurationProblem) =>
        this.findings.push({ finding, impairment: readProblem }),
      sessions: () => undefined,
      service: (key: string, _uid: string, { all }: AnnouncedPeers) => this.services.set(key, all),
      holder: (key: string) => this.l2.push(`say ${key}`),
      hasBgpReport: () => this.hasBgpReport,
      hasL2Report: () => this.hasL2Report,
      bgp: { sweep: () => undefined },
      l2: { sweep: () => this.l2.push("sweep"), adopt: (key: string) => this.l2.push(`adopt ${key}`) },
    } as unknown as StatusWriters;
    const speakerEvents = new SpeakerEvents({
      node: "a",
      events: { record: (_object, { message }) => void this.events.push(message) },
      state: () => ({ metadata: { name: "speaker-a" } }),
    });
    this.speaker = new Speaker({
      node: "a",
      drivers,
      reports,
      memory: this.memory,
      speakerEvents,
      ring: (what) => this.rung.push(what),
      log,
    });
  }

  async load(parts: Parameters<typeof objects>[0], readProblem?: ConfigurationProblem): Promise<void> {
    await this.speaker.updateNodes(new Map([["a", nodeView("a")]]), undefined);
    await this.speaker.load(objects({ nodes: [node("a")], ...parts }), readProblem);
  }

  get last() {
    return this.findings.at(-1);
  }

  states(): Record<string, string> {
    return Object.fromEntries((this.last?.finding?.resources ?? []).map(({ kind, name, state }) => [`${kind}/${name}`, state]));
  }
}
