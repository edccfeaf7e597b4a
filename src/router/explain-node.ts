import type { Condition } from "../api/kind.ts";
import { L2VNI } from "../api/openpe/l2vni.ts";
import { L3VNI } from "../api/openpe/l3vni.ts";
import { Underlay } from "../api/openpe/underlay.ts";
import { RouterNodeConfigurationStatus } from "../api/openpe/router-node-configuration-status.ts";
import type { Index, Need, Remedy, Sight, Standing, Thing } from "../api/health.ts";
import { agentOn, agentSilence } from "../kube/members/agent-health.ts";

/** Who says the same of a resource. */
const byFailure: Index<RouterNodeConfigurationStatus> = {
  kind: RouterNodeConfigurationStatus,
  of: ({ status }) => (status?.failedResources ?? []).filter(isOwnFault).map(wordsOf),
};

export function isOwnFault({ reason }: Pick<Failed, "reason">): boolean {
  return reason !== "DependencyFailed";
}

export function wordsOf({ kind, name, reason, message = "" }: Failed): string {
  return `${kind}/${name} ${reason} ${message}`;
}

type Status = NonNullable<RouterNodeConfigurationStatus["status"]>;
export type Failed = NonNullable<Status["failedResources"]>[number];
type Resource = NonNullable<Status["resources"]>[number];
type Session = NonNullable<Status["sessions"]>[number];
type Link = NonNullable<Status["links"]>[number];
type Vni = NonNullable<Status["vnis"]>[number];

/** All that one node's router says, of itself and of what it stands on. */
export function explainNode({ metadata, status = {} }: RouterNodeConfigurationStatus, sight: Sight): Standing[] {
  return new NodeExplanation(metadata.name, metadata.namespace ?? "", status, sight).standings();
}

export function statusThing(namespace: string, node: string): Thing {
  return { kind: "RouterNodeConfigurationStatus", namespace, name: node };
}

class NodeExplanation {
  readonly #node: string;
  readonly #namespace: string;
  readonly #status: Status;
  readonly #sight: Sight;
  readonly #ready: Condition | undefined;
  readonly #silent: boolean;
  readonly #agent: Thing;
  readonly #frr: Thing;

  constructor(node: string, namespace: string, status: Status, sight: Sight) {
    this.#node = node;
    this.#namespace = namespace;
    this.#status = status;
    this.#sight = sight;
    this.#ready = status.conditions?.find(({ type }) => type === "Ready");
    this.#silent = this.#ready?.reason === "AgentSilent";
    this.#agent = agentOn(node);
    this.#frr = { kind: "FRR", name: "router", node };
  }

  standings(): Standing[] {
    const { resources = [], sessions = [], links = [] } = this.#status;
    const parts = [...links.map((link) => this.#link(link)), ...sessions.map((session) => this.#session(session))];
    parts.push(...resources.map((resource) => this.#resource(resource)), ...this.#failedOnly());
    return [this.#nodeItself(), this.#whole(parts), ...this.#agentItself(), this.#frrItself(), ...parts];
  }

  #nodeItself(): Standing {
    return {
      thing: { kind: "Node", name: this.#node },
      domain: "router",
      health: "Healthy",
      needs: [{ thing: statusThing(this.#namespace, this.#node), as: "part" }],
    };
  }

  #whole(parts: readonly Standing[]): Standing {
    const { status, reason, message, lastTransitionTime: since } = this.#ready ?? {};
    const needs: Need[] = [{ thing: this.#agent }, { thing: this.#frr }, ...parts.map(({ thing }): Need => ({ thing, as: "part" }))];
    const said = {
      thing: statusThing(this.#namespace, this.#node),
      domain: "router" as const,
      needs,
      ...(since !== undefined && { since }),
    };
    if (status === "True") return { ...said, health: "Healthy" };
    if (status === undefined) return { ...said, health: "Healthy", message: "The agent has not reported yet" };
    const health = status === "Unknown" ? "Unknown" : reason === "ConfigurationFailed" ? "Degraded" : "Down";
    return {
      ...said,
      health,
      ...(reason !== undefined && { reason }),
      ...(message !== undefined && { message }),
      remedy: this.#lookCloser(),
    };
  }

  #agentItself(): Standing[] {
    if (this.#silent) return agentSilence(this.#node, this.#status.conditions);
    return [{ thing: this.#agent, domain: "cluster", health: "Healthy" }];
  }

  #frrItself(): Standing {
    const standing: Standing = { thing: this.#frr, domain: "router", health: "Healthy", needs: [{ thing: this.#agent }] };
    if (this.#ready?.reason !== "RouterUnavailable") return standing;
    const { message, lastTransitionTime: since } = this.#ready;
    return {
      ...standing,
      health: "Down",
      reason: "RouterUnavailable",
      message,
      since,
      remedy: { text: `see why FRR does not answer on node ${this.#node}; the agent goes on by itself once it does`, ...this.#closer() },
    };
  }

  #link({ name, state, since }: Link): Standing {
    const thing: Thing = { kind: "Link", name, node: this.#node };
    const standing = { thing, domain: "router" as const, needs: [{ thing: this.#agent }], ...(since !== undefined && { since }) };
    // What a silent agent last saw of it may be over.
    if (state === "Up" || this.#silent) return { ...standing, health: "Healthy" };
    const command = `ip netns exec perouter ip link show ${name}`;
    const of = `interface ${name} of node ${this.#node}`;
    const words: Record<typeof state, readonly [string, string]> = {
      NoCarrier: [`The other end of ${of} is down or not plugged in`, `see to the cable and to the port of the switch that ${of} leads to`],
      Down: [`${of} is switched off`, `switch it on, on the node: ip -n perouter link set ${name} up`],
      Missing: [`${of} is not there`, `see what became of it on the node, or change spec.nics of the Underlay`],
    };
    const [message, text] = words[state];
    return { ...standing, health: "Down", ownFault: true, reason: state, message: capital(message), remedy: { text, command } };
  }

  /** Over which interface a session goes is not known; while one is down that leads to the fabric, that is the likeliest reason. */
  #session({ vrf, neighbor, state, since }: Session): Standing {
    const fabric = this.#fabric().has(neighbor) && vrf === "default";
    const down = state !== "Established";
    const links = fabric && down ? (this.#status.links ?? []) : [];
    const needs: Need[] = [{ thing: this.#agent }, { thing: this.#frr }];
    needs.push(...links.map(({ name }): Need => ({ thing: { kind: "Link", name, node: this.#node } })));
    if (!fabric && down) needs.push({ thing: { kind: "FRR", name: "lb", node: this.#node } });
    const standing = { thing: this.#sessionThing(vrf, neighbor), domain: "router" as const, needs, ...(since !== undefined && { since }) };
    if (!down) return { ...standing, health: "Healthy" };
    const where = vrf === "default" ? "" : ` in VRF ${vrf}`;
    return {
      ...standing,
      health: "Down",
      reason: "SessionDown",
      message: `The BGP session of node ${this.#node} with ${neighbor}${where} is ${state}, not Established`,
      remedy: {
        text: fabric
          ? `see whether ${neighbor} is up and expects this node with the AS number and password of the Underlay`
          : `see whether the host's side of the HostSession speaks BGP with the AS number that it is given there`,
        ...this.#closer(),
      },
    };
  }

  /** The neighbors of the main table that lead to the fabric, not to the host. */
  #fabric(): ReadonlySet<string> {
    const { resources = [], sessions = [] } = this.#status;
    const main = sessions.filter(({ vrf }) => vrf === "default").map(({ neighbor }) => neighbor);
    const underlays = resources.flatMap(({ kind, name }) =>
      kind === "Underlay" ? (this.#sight.get(Underlay, `${this.#namespace}/${name}`) ?? []) : [],
    );
    const named = new Set(underlays.flatMap(({ spec }) => (spec.neighbors ?? []).map(({ address }) => address)));
    const fabric = main.filter((neighbor) => named.has(neighbor));
    // Of an edited Underlay the last good form may be live, with other neighbors.
    return new Set(fabric.length > 0 ? fabric : main);
  }

  #sessionThing(vrf: string, neighbor: string): Thing {
    return { kind: "Session", name: vrf === "default" ? neighbor : `${vrf}/${neighbor}`, node: this.#node };
  }

  #resource(resource: Resource): Standing {
    const { kind, name, state } = resource;
    const failed = this.#failuresOf(kind, name);
    const standing = { thing: this.#thingOf(kind, name), domain: "router" as const };
    const needs = [...this.#ground(kind, name), ...failed.flatMap((failure) => this.#missing(failure))];
    if (failed.length > 0) return this.#failure(standing.thing, failed, needs, state === "KeptPrevious");
    if (state === "Rebuilding")
      return { ...standing, health: "Degraded", reason: state, message: "It is being taken down and set up anew", needs };
    const vni = this.#vniOf(kind, name);
    // What a silent agent last saw of it may be over.
    if (vni === undefined || vni.state === "Up" || this.#silent) return { ...standing, health: "Healthy", needs };
    const why = vni.message === undefined ? "" : `: ${vni.message}`;
    const message = `VNI ${vni.vni} is ${vni.state} on node ${this.#node}${why}`;
    const since = this.#status.conditions?.find(({ type, status }) => type === "VNIsUp" && status !== "True")?.lastTransitionTime;
    const found = { ...standing, reason: "VniDown", message, needs, ...(since !== undefined && { since }) };
    if (vni.state === "Unknown") return { ...found, health: "Unknown", reason: "VniUnknown", remedy: this.#lookCloser() };
    const text = `see on the node what keeps its links from being put right, and in the log of its agent what it tried`;
    return { ...found, health: "Down", ownFault: true, remedy: { text, command: `ip -n perouter -d link show vni${vni.vni}` } };
  }

  /** Failures too many to be listed among the resources still count. */
  #failedOnly(): Standing[] {
    const listed = new Set((this.#status.resources ?? []).map(({ kind, name }) => `${kind}/${name}`));
    const others = Map.groupBy(this.#status.failedResources ?? [], ({ kind, name }) => `${kind}/${name}`);
    return [...others].flatMap(([owner, failed]) => {
      const [first] = failed;
      if (listed.has(owner) || !first) return [];
      const needs = failed.flatMap((failure) => this.#missing(failure));
      return this.#failure(this.#thingOf(first.kind, first.name), failed, needs, false);
    });
  }

  /** What several nodes refuse with the same words is to blame as a whole; what one refuses, there. */
  #failure(thing: Thing, failed: readonly Failed[], needs: readonly Need[], kept: boolean): Standing {
    const own = failed.find(isOwnFault);
    const shown = own ?? failed[0];
    const words = failed.map(({ message }) => message ?? "It failed").join("; ");
    const since = degradedSince(this.#status);
    const object: Thing = { kind: thing.kind, name: thing.name, namespace: this.#namespace };
    const isShared = own !== undefined && this.#sight.by(byFailure, wordsOf(own)).length > 1;
    const lacksNothing = !needs.some(({ thing: { kind } }) => kind !== "Agent" && kind !== "FRR");
    return {
      thing,
      domain: "router",
      health: kept ? "Degraded" : "Down",
      reason: shown?.reason ?? "ApplicationFailed",
      message: kept ? `${words}; its last good form goes on` : words,
      needs: isShared ? [...needs, { thing: object }] : needs,
      ownFault: !isShared && (own !== undefined || lacksNothing),
      ...(since !== undefined && { since }),
      remedy: remedyOf(object, shown?.field),
    };
  }

  #failuresOf(kind: string, name: string): Failed[] {
    return (this.#status.failedResources ?? []).filter((failed) => failed.kind === kind && failed.name === name);
  }

  /** What a resource stands on while it works. */
  #ground(kind: string, name: string): Need[] {
    const base: Need[] = [{ thing: this.#agent }, { thing: this.#frr }];
    const { resources = [], sessions = [] } = this.#status;
    if (kind === "Underlay") {
      const fabric = [...this.#fabric()];
      return [...base, ...fabric.map((neighbor): Need => ({ thing: this.#sessionThing("default", neighbor), as: "alternative" }))];
    }
    if (kind === "RawFRRConfig") return base;
    const underlays = resources.filter((other) => other.kind === "Underlay" && other.state !== "Failed");
    base.push(...underlays.map((underlay): Need => ({ thing: this.#thingOf("Underlay", underlay.name) })));
    const vrf = kind === "L3VNI" ? this.#vrfOf(kind, name) : undefined;
    const host = sessions.filter((session) => vrf !== undefined && session.vrf === vrf);
    return [...base, ...host.map(({ neighbor }): Need => ({ thing: this.#sessionThing(vrf ?? "", neighbor), as: "part" }))];
  }

  /** What a failed dependency may be missing: the failed Underlay, or the failed VNIs of the same VRF. */
  #missing({ kind, name, reason }: Failed): Need[] {
    if (reason !== "DependencyFailed") return [];
    const vrf = this.#vrfOf(kind, name);
    const others = (this.#status.failedResources ?? []).filter((other) => {
      if (other.reason === "DependencyFailed" || (other.kind === kind && other.name === name)) return false;
      return other.kind === "Underlay" || (other.kind === "L2VNI" && this.#vrfOf(other.kind, other.name) === vrf);
    });
    return others.map((other): Need => ({ thing: this.#thingOf(other.kind, other.name) }));
  }

  #vrfOf(kind: string, name: string): string | undefined {
    const key = `${this.#namespace}/${name}`;
    if (kind === "L3VNI") return this.#sight.get(L3VNI, key)?.spec.vrf;
    return kind === "L2VNI" ? this.#sight.get(L2VNI, key)?.spec.vrf || name : undefined;
  }

  #vniOf(kind: string, name: string): Vni | undefined {
    const key = `${this.#namespace}/${name}`;
    const object = kind === "L3VNI" ? this.#sight.get(L3VNI, key) : kind === "L2VNI" ? this.#sight.get(L2VNI, key) : undefined;
    return this.#status.vnis?.find(({ vni }) => vni === object?.spec.vni);
  }

  #thingOf(kind: string, name: string): Thing {
    return { kind, namespace: this.#namespace, name, node: this.#node };
  }

  #lookCloser() {
    return { text: "look closer", ...this.#closer() };
  }

  #closer(): { command: string } {
    return { command: `plumbline describe routernodeconfigurationstatus ${this.#node} -n ${this.#namespace}` };
  }
}

export function degradedSince({ conditions = [] }: Status): string | undefined {
  return conditions.find(({ type, status }) => type === "Degraded" && status === "True")?.lastTransitionTime;
}

export function remedyOf(thing: Thing, field: string | undefined): Remedy {
  return { text: "change it so that it can be applied", change: { thing, ...(field !== undefined && { field }) } };
}

function capital(sentence: string): string {
  return sentence.charAt(0).toUpperCase() + sentence.slice(1);
}
