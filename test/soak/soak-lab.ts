import { setTimeout as sleep } from "node:timers/promises";
import { Service } from "../../src/api/core/service.ts";
import { keyOf } from "../../src/api/kind.ts";
import { CUSTOM_KINDS } from "../../src/api/crds/kinds.ts";
import { AGENT_PROCESS } from "../../lab/cli/agents.ts";
import type { AnnouncedService } from "../../lab/cli/announced-services.ts";
import { observationOf, isOver, type Sample } from "../../lab/drill/samples.ts";
import { StatusReader } from "../../lab/drill/status-reader.ts";
import { identityOf, newStatements } from "../../lab/drill/statements.ts";
import type { Expectation, FaultContext } from "../../lab/faults/fault.ts";
import { ServiceLab } from "../support/service-lab.ts";
import { CHANGES } from "./changes.ts";
import { BREAKABLE, type Move } from "./scenario.ts";
import { growthOf, type Resident } from "./memory-growth.ts";
import { NODES } from "../support/nodes.ts";

const POLL_INTERVAL_MS = 200;
/** A busy machine is slow, and nothing here is about time. */
const WELL_WITHIN_MS = 360_000;
/** No status may be gathered for longer than this before it is written. */
const REST_MS = 12_000;
const REST_WITHIN_MS = 90_000;
/** To each service, one after the other. */
const PASSES = 3;
const SERVICES = ["web", "wiki"];
/** What a source has seen is written down every now and then, however well all is. */
const WRITTEN_AT_REST = new Set(["PodNetworkConnectivityCheck"]);

/** The check of a pod that has left stays as it was, for those who want to know, until it is pruned. */
const LEFT_OVER = /^PodNetworkConnectivityCheck [^ ]+: Reachable=Unknown /;

const MAC = /(?:[\da-f]{2}:){5}[\da-f]{2}/gi;

/** While it lasts these services may be out of reach. */
interface Interruption {
  readonly from: number;
  until: number;
  readonly services: readonly string[];
}

/** The lab on a real API server, and everything in it that must never be. */
export class SoakLab {
  readonly #lab: ServiceLab;
  readonly #reader: StatusReader;
  readonly #stop = new AbortController();
  readonly #interruptions: Interruption[] = [];
  readonly #residents = new Map<string, Resident[]>();
  readonly #found = new Set<string>();
  /** Of the nodes on the client's segment. */
  readonly #macs = new Set<string>();
  #overlapsReported = 0;
  #judged = 0;

  private constructor(lab: ServiceLab) {
    this.#lab = lab;
    this.#reader = new StatusReader(lab.lab.api.client);
  }

  static async start(): Promise<SoakLab> {
    const soak = new SoakLab(await ServiceLab.start({ checks: true }));
    await soak.#begin();
    return soak;
  }

  async #begin(): Promise<void> {
    const { lab } = this.#lab;
    await this.#reader.open(this.#stop.signal);
    lab.services.subscribe(() => {
      for (const twice of givenTwice(lab.services.list())) this.#found.add(twice);
    });
    for (const node of NODES) this.#macs.add((await this.#lab.addressesOf(node)).mac);
    await this.#lab.whole();
    this.#lab.addressHistory.ask(this.#lab.address("wiki"));
    this.#lab.connectTo(...SERVICES);
    const left = await this.#untilWell(new Set());
    if (left.length > 0) throw new Error(`the lab did not come up well: ${left.join("; ")}`);
    // Nothing is guaranteed before this point.
    this.#judged = this.#lab.attempts.length;
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#lab.stop();
  }

  /** Applies a fault and a change, reverts both, and returns the violated invariants. */
  async make(move: Move): Promise<string[]> {
    const fault = BREAKABLE[move.fault];
    if (!fault) throw new TypeError(`there is no fault ${move.fault}`);
    const change = move.change === undefined ? undefined : CHANGES[move.change];
    const context: FaultContext = {
      node: move.node,
      nodes: NODES,
      client: this.#lab.lab.api.client,
      host: (name) => this.#lab.host(name),
      signal: this.#stop.signal,
    };
    const expected = fault.expect?.(move.node);
    const rest = this.#unhealthyStatements();
    const interruption: Interruption = { from: Date.now(), until: Infinity, services: expected?.interrupts ?? [] };
    this.#interruptions.push(interruption);

    await fault.break(context);
    await change?.make(context);
    if (expected) await this.#follow(rest, expected);
    await change?.takeBack(context);
    await fault.fix?.(context);
    for (const left of await this.#untilWell(rest)) this.#found.add(`still reported after the fix: ${left}`);
    interruption.until = Date.now();
    await this.#measure();
    return this.violations();
  }

  /** What must not be and was, since the last time. */
  violations(): string[] {
    const { attempts, addressHistory } = this.#lab;
    for (const { name, at, ms, by, why } of attempts.slice(this.#judged)) {
      const service = name.replace("default/", "");
      const excused = this.#interruptions.some(({ from, until, services }) => services.includes(service) && at + ms >= from && at <= until);
      if (by === undefined && !excused) this.#found.add(`a connection to ${service} was lost that had nothing to do with it: ${why ?? ""}`);
    }
    this.#judged = attempts.length;
    for (const overlap of addressHistory.overlaps.slice(this.#overlapsReported).filter((text) => this.#isOurs(text)))
      this.#found.add(`two announcers: ${overlap}`);
    this.#overlapsReported = addressHistory.overlaps.length;
    for (const [agent, samples] of this.#residents) {
      const growth = growthOf(samples);
      if (growth !== undefined) this.#found.add(`the agent on ${agent} ${growth}`);
    }
    return [...this.#found];
  }

  /** Whether those who answered are nodes: that a stranger does too is a fault like another. */
  #isOurs(overlap: string): boolean {
    return (overlap.match(MAC) ?? []).every((mac) => this.#macs.has(mac.toLowerCase()));
  }

  /** From here on as if nothing had been; for another try. */
  forget(): void {
    this.violations();
    this.#found.clear();
  }

  /** What is written again and again although nothing changes; what is still owed of before is given the time. */
  async needlessWrites(): Promise<string[]> {
    const deadline = performance.now() + REST_WITHIN_MS;
    for (let before = await this.#versions(); ;) {
      await sleep(REST_MS);
      const after = await this.#versions();
      const written = [...after].filter(([object, version]) => before.get(object) !== version);
      if (written.length === 0) return [];
      if (performance.now() > deadline) return written.map(([object]) => `${object} is written at rest`);
      before = after;
    }
  }

  /** Until a status says it and none claims health any more. */
  async #follow(rest: ReadonlySet<string>, { says, untrue, withinMs }: Expectation): Promise<void> {
    const expected: Expectation = { says, withinMs, ...(untrue && { untrue }) };
    const began = performance.now();
    const samples: Sample[] = [];
    do {
      if (samples.length > 0) await sleep(POLL_INTERVAL_MS);
      const statements = newStatements(this.#reader.statements(), rest);
      samples.push({ atMs: performance.now() - began, statements, causes: [] });
    } while (!isOver(samples, expected));
    const finding = observationOf(samples, expected);
    if (finding.reportedMs === undefined) this.#found.add(`no status reports it within ${withinMs / 1000} s: ${says.source}`);
    for (const text of finding.untrue) this.#found.add(`claims health: ${text}`);
  }

  #unhealthyStatements(): Set<string> {
    return new Set(this.#reader.statements().flatMap((statement) => (statement.well ? [] : [identityOf(statement)])));
  }

  /** Until nothing is wrong that was not before, and connections to all services are answered. Returns what still is when it is too late. */
  async #untilWell(rest: ReadonlySet<string>): Promise<string[]> {
    const deadline = performance.now() + WELL_WITHIN_MS;
    const since = Date.now();
    for (;;) {
      const bad = this.#reader.statements().filter(({ well, once, text }) => !well && !once && !rest.has(text) && !LEFT_OVER.test(text));
      const unreached = SERVICES.filter((service) => !this.#passes(service, since)).map((service) => `${service} is not reached`);
      const left = [...bad.map(({ text }) => text), ...unreached];
      if (left.length === 0) {
        await this.#lab.whole();
        return [];
      }
      if (performance.now() > deadline) return left;
      await sleep(POLL_INTERVAL_MS);
    }
  }

  #passes(service: string, since: number): boolean {
    const last = this.#lab.attempts.filter(({ name, at }) => name === `default/${service}` && at >= since).slice(-PASSES);
    return last.length === PASSES && last.every(({ by }) => by !== undefined);
  }

  async #versions(): Promise<Map<string, string | undefined>> {
    const versions = new Map<string, string | undefined>();
    for (const kind of [Service, ...CUSTOM_KINDS]) {
      if (WRITTEN_AT_REST.has(kind.kind)) continue;
      const { items } = await this.#lab.lab.api.client.resource(kind).list({ signal: this.#stop.signal });
      for (const object of items) versions.set(`${kind.kind} ${keyOf(object)}`, object.metadata.resourceVersion);
    }
    return versions;
  }

  async #measure(): Promise<void> {
    const script = `pid=$(pgrep -o -f '${AGENT_PROCESS}') && echo $pid && grep VmRSS /proc/$pid/status`;
    for (const node of NODES) {
      const { stdout } = await this.#lab.host(node).run(["sh", "-c", script]);
      const [, pid, kib] = /^(\d+)\s+VmRSS:\s+(\d+)/.exec(stdout) ?? [];
      if (pid === undefined) continue;
      const agent = `${node} (${pid})`;
      const samples = this.#residents.get(agent) ?? [];
      this.#residents.set(agent, [...samples, { atMs: performance.now(), mib: Number(kib) / 1024 }]);
    }
  }
}

/** Addresses that two Services have which do not share. */
export function givenTwice(services: readonly AnnouncedService[]): string[] {
  const holders = new Map<string, string>();
  const twice: string[] = [];
  for (const { key, addresses } of services) {
    for (const address of addresses) {
      const holder = holders.get(address);
      if (holder !== undefined) twice.push(`${address} is given to ${holder} and ${key}`);
      holders.set(address, key);
    }
  }
  return twice;
}
