import { linksOf } from "./sessions.ts";
import type { Condition } from "../api/kind.ts";
import { L2VNI } from "../api/openpe/l2vni.ts";
import { L3VNI } from "../api/openpe/l3vni.ts";
import { Underlay } from "../api/openpe/underlay.ts";
import type { RouterNodeConfigurationStatus } from "../api/openpe/router-node-configuration-status.ts";
import type { Dependency, Fix, ObjectReader, HealthStatement, Component } from "../api/health.ts";
import { vrfOfL2VNI } from "./dialects/read-objects.ts";
import { agentComponent, agentHealth } from "../kube/members/agent-health.ts";
import { dataPathComponent, explainForeign, isInRouter } from "./explain-foreign.ts";
import { explainOverlay } from "./explain-overlay.ts";
import { byFailure, explainReason, type Failed, isOwnFault } from "./failure-index.ts";

type Status = NonNullable<RouterNodeConfigurationStatus["status"]>;
type Resource = NonNullable<Status["resources"]>[number];
type Session = NonNullable<Status["sessions"]>[number];
type Link = NonNullable<Status["links"]>[number];
type Vni = NonNullable<Status["vnis"]>[number];

/** The health of one node's router and of everything it depends on. */
export function explainNode({ metadata, status = {} }: RouterNodeConfigurationStatus, reader: ObjectReader): HealthStatement[] {
  return new NodeExplanation(metadata.name, metadata.namespace ?? "", status, reader).statements();
}

export function statusComponent(namespace: string, node: string): Component {
  return { kind: "RouterNodeConfigurationStatus", namespace, name: node };
}

class NodeExplanation {
  readonly #node: string;
  readonly #namespace: string;
  readonly #status: Status;
  readonly #reader: ObjectReader;
  readonly #ready: Condition | undefined;
  readonly #silent: boolean;
  readonly #agent: Component;
  readonly #frr: Component;

  constructor(node: string, namespace: string, status: Status, reader: ObjectReader) {
    this.#node = node;
    this.#namespace = namespace;
    this.#status = status;
    this.#reader = reader;
    this.#ready = status.conditions?.find(({ type }) => type === "Ready");
    this.#silent = this.#ready?.reason === "AgentNotReporting";
    this.#agent = agentComponent(node);
    this.#frr = { kind: "FRR", name: "router", node };
  }

  statements(): HealthStatement[] {
    const { resources = [], sessions = [], links = [] } = this.#status;
    const parts = [...links.map((link) => this.#link(link)), ...sessions.map((session) => this.#session(session))];
    parts.push(...resources.map((resource) => this.#resource(resource)), ...this.#failedOnly(), ...this.#overlay());
    if (this.#status.foreign && !this.#silent) parts.push(...explainForeign(this.#node, this.#status));
    return [this.#nodeItself(), this.#whole(parts), ...this.#agentItself(), this.#frrItself(), ...parts];
  }

  /** Nothing reaches other nodes without a session to the fabric. */
  #overlay(): HealthStatement[] {
    // The last report of a silent agent may be out of date.
    if (this.#silent) return [];
    const obstacles = this.#status.foreign?.some(isInRouter) ? [{ component: dataPathComponent(this.#node) }] : [];
    const dependencies = [{ component: this.#agent }, { component: this.#frr }, ...this.#fabricSessions(), ...obstacles];
    return explainOverlay({ node: this.#node, namespace: this.#namespace, status: this.#status, reader: this.#reader, dependencies });
  }

  #nodeItself(): HealthStatement {
    return {
      component: { kind: "Node", name: this.#node },
      domain: "router",
      health: "Healthy",
      dependencies: [{ component: statusComponent(this.#namespace, this.#node), as: "part" }],
    };
  }

  #whole(parts: readonly HealthStatement[]): HealthStatement {
    const { status, reason, message, lastTransitionTime: since } = this.#ready ?? {};
    const dependencies: Dependency[] = [
      { component: this.#agent },
      { component: this.#frr },
      ...parts.map(({ component }): Dependency => ({ component, as: "part" })),
    ];
    const statements = {
      component: statusComponent(this.#namespace, this.#node),
      domain: "router" as const,
      dependencies,
      ...(since !== undefined && { since }),
    };
    if (status === "True") return { ...statements, health: "Healthy" };
    if (status === undefined) return { ...statements, health: "Healthy", message: "The agent has not reported yet" };
    const health = status === "Unknown" ? "Unknown" : reason === "ConfigurationFailed" ? "Degraded" : "Down";
    return {
      ...statements,
      health,
      ...(reason !== undefined && { reason }),
      ...(message !== undefined && { message }),
      fix: this.#inspect(),
    };
  }

  #agentItself(): HealthStatement[] {
    if (this.#silent) return agentHealth(this.#node, this.#status.conditions);
    return [{ component: this.#agent, domain: "cluster", health: "Healthy" }];
  }

  #frrItself(): HealthStatement {
    const statement = { component: this.#frr, domain: "router" as const, dependencies: [{ component: this.#agent }] };
    if (this.#ready?.reason !== "RouterUnavailable") return { ...statement, health: "Healthy" };
    const { message, lastTransitionTime: since } = this.#ready;
    return {
      ...statement,
      health: "Down",
      reason: "RouterUnavailable",
      message,
      since,
      fix: this.#inspect(`check FRR on node ${this.#node}; the agent recovers once FRR answers`),
    };
  }

  #link({ name, state, since }: Link): HealthStatement {
    const component: Component = { kind: "Link", name, node: this.#node };
    const statement = {
      component,
      domain: "router" as const,
      dependencies: [{ component: this.#agent }],
      ...(since !== undefined && { since }),
    };
    // The last report of a silent agent may be out of date.
    if (state === "Up" || this.#silent) return { ...statement, health: "Healthy" };
    const command = `ip netns exec perouter ip link show ${name}`;
    const texts: Record<typeof state, readonly [string, string]> = {
      NoCarrier: ["no carrier", `check the cable and the switch port of ${name}`],
      Down: ["administratively down", `set it up: ip -n perouter link set ${name} up`],
      Missing: ["not present on node", `restore interface ${name} on the node, or change the interfaces of the Underlay`],
    };
    const [message, text] = texts[state];
    return { ...statement, health: "Down", ownFault: true, reason: state, message, fix: { text, command } };
  }

  #session({ vrf, neighbor, state, since }: Session): HealthStatement {
    const fabric = this.#fabric().has(neighbor) && vrf === "default";
    const down = state !== "Established";
    const links = fabric && down ? linksOf(neighbor, this.#status.links) : [];
    const dependencies: Dependency[] = [{ component: this.#agent }, { component: this.#frr }];
    dependencies.push(...links.map((name): Dependency => ({ component: { kind: "Link", name, node: this.#node } })));
    if (!fabric && down) dependencies.push({ component: { kind: "FRR", name: "lb", node: this.#node } });
    const statement = {
      component: this.#sessionComponent(vrf, neighbor),
      domain: "router" as const,
      dependencies,
      ...(since !== undefined && { since }),
    };
    if (!down) return { ...statement, health: "Healthy" };
    const where = vrf === "default" ? "" : ` in VRF ${vrf}`;
    return {
      ...statement,
      health: "Down",
      reason: "SessionDown",
      message: `BGP session with ${neighbor}${where} is ${state}`,
      fix: this.#inspect(
        fabric
          ? `check that ${neighbor} is up and that AS number and password match the Underlay`
          : "check that the host's BGP speaker runs and uses hostasn of the HostSession",
      ),
    };
  }

  /** The neighbors in the default VRF that belong to the fabric, not to the host. */
  #fabric(): ReadonlySet<string> {
    const { resources = [], sessions = [] } = this.#status;
    const main = sessions.filter(({ vrf }) => vrf === "default").map(({ neighbor }) => neighbor);
    const underlays = resources.flatMap(({ kind, name }) =>
      kind === "Underlay" ? (this.#reader.get(Underlay, `${this.#namespace}/${name}`) ?? []) : [],
    );
    const named = new Set(
      underlays.flatMap(({ spec }) => (spec.neighbors ?? []).map(({ address, interface: name }) => address ?? name ?? "")),
    );
    const fabric = main.filter((neighbor) => named.has(neighbor));
    // An edited Underlay may still run its last good version, with other neighbors.
    return new Set(fabric.length > 0 ? fabric : main);
  }

  #fabricSessions(): Dependency[] {
    return [...this.#fabric()].map((neighbor) => ({ component: this.#sessionComponent("default", neighbor), as: "alternative" }));
  }

  #sessionComponent(vrf: string, neighbor: string): Component {
    return { kind: "Session", name: vrf === "default" ? neighbor : `${vrf}/${neighbor}`, node: this.#node };
  }

  #resource(resource: Resource): HealthStatement {
    const { kind, name, state } = resource;
    const failed = (this.#status.failedResources ?? []).filter((one) => one.kind === kind && one.name === name);
    const statement = { component: this.#componentOf(kind, name), domain: "router" as const };
    const dependencies = [...this.#dependencies(kind, name), ...failed.flatMap((failure) => this.#missing(failure))];
    if (failed.length > 0) return this.#failure(statement.component, failed, dependencies, state === "KeptPrevious");
    if (state === "Rebuilding") return { ...statement, health: "Degraded", reason: state, message: "Rebuilding", dependencies };
    const vni = this.#vniOf(kind, name);
    // The last report of a silent agent may be out of date.
    if (vni === undefined || vni.state === "Up" || this.#silent) return { ...statement, health: "Healthy", dependencies };
    const why = vni.message === undefined ? "" : `: ${vni.message}`;
    const message = `VNI ${vni.vni} is ${vni.state} on node ${this.#node}${why}`;
    const since = this.#status.conditions?.find(({ type, status }) => type === "VNIsUp" && status !== "True")?.lastTransitionTime;
    const found = { ...statement, reason: "VniDown", message, dependencies, ...(since !== undefined && { since }) };
    if (vni.state === "Unknown") return { ...found, health: "Unknown", reason: "VniUnknown", fix: this.#inspect() };
    const text = "check the links of the VNI on the node, and the log of its agent";
    return { ...found, health: "Down", ownFault: true, fix: { text, command: `ip -n perouter -d link show vni${vni.vni}` } };
  }

  /** Failed resources that the truncated list `resources` does not have. */
  #failedOnly(): HealthStatement[] {
    const listed = new Set((this.#status.resources ?? []).map(({ kind, name }) => `${kind}/${name}`));
    const others = Map.groupBy(this.#status.failedResources ?? [], ({ kind, name }) => `${kind}/${name}`);
    return [...others].flatMap(([owner, failed]) => {
      const [first] = failed;
      if (listed.has(owner) || !first) return [];
      const dependencies = failed.flatMap((failure) => this.#missing(failure));
      return this.#failure(this.#componentOf(first.kind, first.name), failed, dependencies, false);
    });
  }

  /** If several nodes report the same failure, the object is the cause; otherwise it is the object on this node. */
  #failure(component: Component, failed: readonly Failed[], dependencies: readonly Dependency[], kept: boolean): HealthStatement {
    const own = failed.find(isOwnFault);
    const failure = own ?? failed[0];
    const messages = failed.map(({ message }) => message ?? "Failed").join("; ");
    const since = degradedSince(this.#status);
    const object: Component = { kind: component.kind, name: component.name, namespace: this.#namespace };
    const isShared = own !== undefined && this.#reader.by(byFailure, explainReason(own)).length > 1;
    const lacksNothing = !dependencies.some(({ component: { kind } }) => kind !== "Agent" && kind !== "FRR");
    return {
      component,
      domain: "router",
      health: kept ? "Degraded" : "Down",
      reason: failure?.reason ?? "ApplicationFailed",
      message: kept ? `${messages}; the last good version stays applied` : messages,
      dependencies: isShared ? [...dependencies, { component: object }] : dependencies,
      ownFault: !isShared && (own !== undefined || lacksNothing),
      ...(since !== undefined && { since }),
      fix: fixOf(object, failure?.field),
    };
  }

  /** What a resource depends on while it works. */
  #dependencies(kind: string, name: string): Dependency[] {
    const base: Dependency[] = [{ component: this.#agent }, { component: this.#frr }];
    const { resources = [], sessions = [] } = this.#status;
    if (kind === "Underlay") return [...base, ...this.#fabricSessions()];
    if (kind === "RawFRRConfig") return base;
    const underlays = resources.filter((other) => other.kind === "Underlay" && other.state !== "Failed");
    base.push(...underlays.map((underlay): Dependency => ({ component: this.#componentOf("Underlay", underlay.name) })));
    const vrf = kind === "L3VNI" ? this.#vrfOf(kind, name) : undefined;
    const host = sessions.filter((session) => vrf !== undefined && session.vrf === vrf);
    return [...base, ...host.map(({ neighbor }): Dependency => ({ component: this.#sessionComponent(vrf ?? "", neighbor), as: "part" }))];
  }

  /** The likely cause of DependencyFailed: the failed Underlay, or failed L2VNIs of the same VRF. */
  #missing({ kind, name, reason }: Failed): Dependency[] {
    if (reason !== "DependencyFailed") return [];
    const vrf = this.#vrfOf(kind, name);
    const others = (this.#status.failedResources ?? []).filter((other) => {
      if (other.reason === "DependencyFailed" || (other.kind === kind && other.name === name)) return false;
      return other.kind === "Underlay" || (other.kind === "L2VNI" && this.#vrfOf(other.kind, other.name) === vrf);
    });
    return others.map((other): Dependency => ({ component: this.#componentOf(other.kind, other.name) }));
  }

  #vrfOf(kind: string, name: string): string | undefined {
    const key = `${this.#namespace}/${name}`;
    if (kind === "L3VNI") return this.#reader.get(L3VNI, key)?.spec.vrf;
    const l2vni = kind === "L2VNI" ? this.#reader.get(L2VNI, key) : undefined;
    return l2vni && vrfOfL2VNI(l2vni);
  }

  #vniOf(kind: string, name: string): Vni | undefined {
    const key = `${this.#namespace}/${name}`;
    const object = kind === "L3VNI" ? this.#reader.get(L3VNI, key) : kind === "L2VNI" ? this.#reader.get(L2VNI, key) : undefined;
    return this.#status.vnis?.find(({ vni }) => vni === object?.spec.vni);
  }

  #componentOf(kind: string, name: string): Component {
    return { kind, namespace: this.#namespace, name, node: this.#node };
  }

  #inspect(text = "inspect the status"): Fix {
    return { text, command: `plumbline describe routernodeconfigurationstatus ${this.#node} -n ${this.#namespace}` };
  }
}

export function degradedSince({ conditions = [] }: Status): string | undefined {
  return conditions.find(({ type, status }) => type === "Degraded" && status === "True")?.lastTransitionTime;
}

export function fixOf(component: Component, field: string | undefined): Fix {
  return { text: "correct the resource", change: { component, ...(field !== undefined && { field }) } };
}
