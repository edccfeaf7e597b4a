import { isDeepStrictEqual } from "node:util";
import type { Namespace } from "../../api/core/namespace.ts";
import type { Node } from "../../api/core/node.ts";
import type { Secret } from "../../api/core/secret.ts";
import type { BFDProfile } from "../../api/metallb/bfd-profile.ts";
import type { BGPAdvertisement } from "../../api/metallb/bgp-advertisement.ts";
import type { BGPPeer } from "../../api/metallb/bgp-peer.ts";
import type { Community } from "../../api/metallb/community.ts";
import type { BGPSessionStatus } from "../../api/metallb/bgp-session-status.ts";
import type { ConfigurationState } from "../../api/metallb/configuration-state.ts";
import type { IPAddressPool } from "../../api/metallb/ip-address-pool.ts";
import type { L2Advertisement } from "../../api/metallb/l2-advertisement.ts";
import type { KubeObject } from "../../api/kind.ts";
import type { L3Passthrough } from "../../api/openpe/l3passthrough.ts";
import type { L3VNI } from "../../api/openpe/l3vni.ts";
import type { RouterNodeConfigurationStatus } from "../../api/openpe/router-node-configuration-status.ts";
import type { Cache } from "../../kube/cache/cache.ts";
import { L2Elections } from "../announcement/l2-election.ts";
import { PoolIndex } from "../config/pool-index.ts";
import { type LastGoodConfig, loadConfig, type Loaded } from "../config/load.ts";
import { readNode, type NodeView } from "../services/service-view.ts";
import type { AnnouncementInput } from "./announced-condition.ts";
import { deliveryEvidence, type DeliveryEvidence } from "./session-evidence.ts";
import { cutOffRouters } from "./own-router.ts";
import { groupNodes } from "./node-groups.ts";
import { nodeOfReport } from "./unknown.ts";
import { cachedObjects, labeled } from "../config/objects.ts";

type Listed<T extends KubeObject> = Pick<Cache<T>, "kind" | "list" | "subscribe" | "waitForSync">;

/** The load balancer's configuration, without Secrets. */
export interface ClusterSources {
  readonly pools: Listed<IPAddressPool>;
  readonly peers: Listed<BGPPeer>;
  readonly bfdProfiles: Listed<BFDProfile>;
  readonly bgpAdvertisements: Listed<BGPAdvertisement>;
  readonly l2Advertisements: Listed<L2Advertisement>;
  readonly communities: Listed<Community>;
  readonly namespaces: Listed<Namespace>;
  readonly nodes: Listed<Node>;
}

interface ClusterViewOptions {
  /** Whether all speakers run with --ignore-exclude-lb. */
  readonly ignoreExclude: boolean;
  readonly states: Pick<Cache<ConfigurationState>, "list" | "subscribe" | "waitForSync">;
  /** What they report of their sessions. */
  readonly sessions: Pick<Cache<BGPSessionStatus>, "list" | "subscribe" | "waitForSync">;
  /** The routers of the nodes, to which the load balancer may announce. */
  readonly routers: RouterSources;
}

export interface RouterSources {
  readonly passthroughs: Listed<L3Passthrough>;
  readonly l3vnis: Listed<L3VNI>;
  readonly reports: Listed<RouterNodeConfigurationStatus>;
}

/** The controller has no access to password Secrets and assumes that they exist; the speakers check them. */
const someSecret: Omit<Secret, "metadata"> = { type: "kubernetes.io/basic-auth", data: { password: "Kg==" } };

export class ClusterConfig {
  readonly sources: ClusterSources;
  readonly states: ClusterViewOptions["states"];
  readonly sessions: ClusterViewOptions["sessions"];
  readonly routers: RouterSources;
  readonly #ignoreExclude: boolean;
  #lastGood: LastGoodConfig = new Map();
  #loaded: Loaded | undefined;
  #nodes: readonly NodeView[] = [];
  #living: ReadonlySet<string> | undefined;
  readonly #elections = new L2Elections();
  #input: AnnouncementInput | undefined;

  constructor(sources: ClusterSources, { ignoreExclude, states, sessions, routers }: ClusterViewOptions) {
    this.sources = sources;
    this.states = states;
    this.sessions = sessions;
    this.routers = routers;
    this.#ignoreExclude = ignoreExclude;
  }

  get loaded(): Loaded | undefined {
    return this.#loaded;
  }

  /** The input for announcement decisions; undefined until the live agents are known. */
  get landscape(): AnnouncementInput | undefined {
    return this.#input;
  }

  /** Loads everything again. Returns whether any input of announcement decisions changed. */
  load(living: readonly string[] | undefined): boolean {
    const nodes = this.sources.nodes.list().map((node) => readNode(node, { ignoreExclude: this.#ignoreExclude }));
    const loaded = this.#load(nodes);
    const alive = living && new Set(living);
    const doubtful = this.#doubtful(alive);
    const { passthroughs, l3vnis, reports } = this.routers;
    const isCutOff = cutOffRouters({ passthroughs: passthroughs.list(), l3vnis: l3vnis.list(), reports: reports.list() });
    const evidence = deliveryEvidence(this.sessions.list(), isCutOff);
    const isSame =
      haveSameSignatures(evidence, this.#input?.evidence ?? new Map()) &&
      isDeepStrictEqual(doubtful, this.#input?.doubtful ?? new Set()) &&
      isDeepStrictEqual(alive, this.#living) &&
      isDeepStrictEqual(nodes, this.#nodes) &&
      isDeepStrictEqual(loaded.config, this.#loaded?.config);
    this.#lastGood = loaded.lastGood;
    this.#loaded = loaded;
    if (isSame) return false;
    this.#nodes = nodes;
    this.#living = alive;
    this.#input = alive && inputOf(loaded, nodes, { alive, doubtful, evidence, elections: this.#elections });
    return true;
  }

  /** Only a speaker knows its last good versions and the Secrets that it cannot use. */
  #doubtful(alive: ReadonlySet<string> | undefined): Set<string> {
    const others = this.states.list().filter((state) => !isCurrent(state));
    return new Set(others.flatMap((state) => nodeOfReport(state) ?? []).filter((node) => alive?.has(node)));
  }

  #load(nodes: readonly NodeView[]): Loaded {
    return loadConfig(
      {
        ...cachedObjects(this.sources),
        namespaces: labeled(this.sources.namespaces.list()),
        nodes,
        secret: (name) => ({ metadata: { name }, ...someSecret }),
      },
      { view: { of: "cluster" }, lastGood: this.#lastGood, now: new Date() },
    );
  }
}

/** A component that has just started has no result yet. */
const CERTAIN = new Set(["ConfigurationValid", "Starting"]);

/** Whether the component runs the current configuration and could read all of it. */
export function isCurrent({ status }: ConfigurationState): boolean {
  const valid = status?.conditions?.find(({ type }) => type === "Valid");
  return status?.result !== "Invalid" && (!valid || CERTAIN.has(valid.reason));
}

function inputOf(
  { config }: Loaded,
  nodes: readonly NodeView[],
  { alive, ...rest }: { alive: ReadonlySet<string> } & Pick<AnnouncementInput, "doubtful" | "evidence" | "elections">,
): AnnouncementInput {
  const isAlive = (node: string) => alive.has(node);
  const groups = groupNodes(nodes, config, isAlive, rest.evidence);
  return { config, pools: new PoolIndex(config.pools.values()), nodes, groups, isAlive, ...rest };
}

function haveSameSignatures(one: DeliveryEvidence, other: DeliveryEvidence): boolean {
  return one.size === other.size && one.entries().every(([node, { signature }]) => other.get(node)?.signature === signature);
}
