import type { LabelSelector } from "../../api/core/label-selector.ts";
import { Namespace } from "../../api/core/namespace.ts";
import { Secret } from "../../api/core/secret.ts";
import { type KubeObject, manifestsOf } from "../../api/kind.ts";
import type { BGPAdvertisement } from "../../api/metallb/bgp-advertisement.ts";
import type { L2Advertisement } from "../../api/metallb/l2-advertisement.ts";
import { type ConfigFailure, loadConfig, type ConfigScope, type Warning } from "../../loadbalancer/config/load.ts";
import { type ConfigObjects, labeled, objectsIn } from "../../loadbalancer/config/objects.ts";
import { wrongNamespaceWarning } from "../../loadbalancer/config/warnings.ts";
import { LOAD_BALANCER } from "../shared/agent-options.ts";
import { nodeNamed, nodesOf } from "../router/offline-node.ts";
import type { LintFailure, LintContext, LintWarning } from "./rules.ts";

/** For the given node, for the Nodes among the manifests, or for one imagined node per selector. */
export function loadBalancerRule(objects: readonly KubeObject[], context: LintContext): LintFailure[] {
  const found = new Map<string, LintFailure>();
  for (const group of Map.groupBy(objects, ({ metadata }) => metadata.namespace ?? "").values()) {
    const { config } = withoutReferencesElsewhere(configObjects(group, objects));
    for (const { view, visible } of viewsOf(config, objects, context)) {
      for (const failure of loadConfig(visible, { view, lastGood: new Map(), now: new Date() }).failures) {
        found.set(JSON.stringify([failure.kind, failure.namespace, failure.name, failure.field, failure.message]), failure);
      }
    }
  }
  return [...found.values()];
}

export function loadBalancerWarnings(objects: readonly KubeObject[], { metallbNamespace }: LintContext = {}): LintWarning[] {
  return [...Map.groupBy(objects, ({ metadata }) => metadata.namespace ?? "")].flatMap(([namespace, group]) => {
    const { config, elsewhere } = withoutReferencesElsewhere(configObjects(group, objects));
    const { warnings } = loadConfig(config, { ...CLUSTER, now: new Date() });
    const found = [...elsewhere, ...warnings.flatMap((warning) => asGiven(config, warning))];
    return strays(config, namespace, metallbNamespace ?? LOAD_BALANCER.metallbNamespace).concat(
      found.map((warning) => Object.assign({ namespace }, warning)),
    );
  });
}

const CLUSTER = { view: { of: "cluster" }, lastGood: new Map() } as const;

/**
 * If there is no object of a kind, the manifests are only a part of the configuration, and Secrets are rarely among them. Such references
 * are assumed to be valid, so that the rest of the object can be checked.
 */
function withoutReferencesElsewhere(config: ConfigObjects): { config: ConfigObjects; elsewhere: Warning[] } {
  const elsewhere = new Map<string, Warning>();
  for (const { kind, name, field, rule } of loadConfig(config, { ...CLUSTER, now: new Date() }).failures) {
    const refersTo = referenceElsewhere(config, rule, name, field);
    if (refersTo) elsewhere.set(`${kind}/${name} ${field}`, { kind, name, field, message: `${kind} ${name} refers to ${refersTo}` });
  }
  const isElsewhere = (kind: string, name: string, field: string) => elsewhere.has(`${kind}/${name} ${field}`);
  return {
    elsewhere: [...elsewhere.values()],
    config: {
      ...config,
      peers: config.peers.map((peer) => {
        const { passwordSecret, bfdProfile, ...spec } = peer.spec;
        const keeps = (field: string) => !isElsewhere("BGPPeer", peer.metadata.name, field);
        const secret = passwordSecret && keeps(SECRET) && { passwordSecret };
        const profile = bfdProfile !== undefined && keeps(PROFILE) && { bfdProfile };
        return { ...peer, spec: { ...spec, ...secret, ...profile } };
      }),
      bgpAdvertisements: config.bgpAdvertisements.map((ad) => {
        const communities = ad.spec?.communities?.filter(
          (_, nth) => !isElsewhere("BGPAdvertisement", ad.metadata.name, `spec.communities[${nth}]`),
        );
        return communities ? { ...ad, spec: { ...ad.spec, communities } } : ad;
      }),
    },
  };
}

const SECRET = "spec.passwordSecret.name";
const PROFILE = "spec.bfdProfile";

function referenceElsewhere(config: ConfigObjects, rule: ConfigFailure["rule"], name: string, field: string): string | undefined {
  const peer = config.peers.find(({ metadata }) => metadata.name === name)?.spec;
  if (rule === "T1") return `Secret ${peer?.passwordSecret?.name}, ${NOT_GIVEN}`;
  if (rule === "T2" && config.bfdProfiles.length === 0) return `BFDProfile ${peer?.bfdProfile}, ${NOT_GIVEN}`;
  if (rule !== "T3" || config.communities.length > 0) return undefined;
  const ad = config.bgpAdvertisements.find(({ metadata }) => metadata.name === name)?.spec;
  const [, nth] = /\[(\d+)\]$/.exec(field) ?? [];
  return `community alias ${ad?.communities?.[Number(nth)]}, and no Community is in the given files`;
}

const NOT_GIVEN = "which is not in the given files";

function strays(config: ConfigObjects, namespace: string, metallbNamespace: string): LintWarning[] {
  // An object without a namespace gets the one of `apply`.
  if (["", "default", metallbNamespace].includes(namespace)) return [];
  const { pools, peers, bfdProfiles, bgpAdvertisements, l2Advertisements, communities } = config;
  const objects: readonly KubeObject[] = [pools, peers, bfdProfiles, bgpAdvertisements, l2Advertisements, communities].flat();
  return objects.map(({ kind = "", metadata: { name } }) => {
    const message = wrongNamespaceWarning({ kind, name, namespace }, metallbNamespace);
    return { kind, name, namespace, field: "metadata.namespace", message };
  });
}

/** If there is no object of the kind, a name may refer to an object elsewhere. */
function asGiven({ pools, peers, bgpAdvertisements, l2Advertisements }: ConfigObjects, warning: Warning): Warning[] {
  const { kind, name, field } = warning;
  if (kind === "IPAddressPool") return field !== "" || bgpAdvertisements.length + l2Advertisements.length > 0 ? [warning] : [];
  const [, list, nth] = /^spec\.(ipAddressPools|peers)(?:\[(\d+)\])?$/.exec(field) ?? [];
  if (list === undefined || (list === "peers" ? peers : pools).length > 0) return [warning];
  if (nth === undefined) return [];
  const ads: readonly (BGPAdvertisement | L2Advertisement)[] = kind === "BGPAdvertisement" ? bgpAdvertisements : l2Advertisements;
  const { ipAddressPools = [], peers: named = [] } = (ads.find(({ metadata }) => metadata.name === name)?.spec ?? {}) as NonNullable<
    BGPAdvertisement["spec"]
  >;
  const refersTo = list === "peers" ? `BGPPeer ${named[Number(nth)]}` : `IPAddressPool ${ipAddressPools[Number(nth)]}`;
  return [{ ...warning, message: `${kind} ${name} refers to ${refersTo}, ${NOT_GIVEN}` }];
}

function configObjects(group: readonly KubeObject[], objects: readonly KubeObject[]): ConfigObjects {
  const secrets = manifestsOf<Secret>(Secret, group);
  return {
    ...objectsIn(group),
    namespaces: labeled(manifestsOf<Namespace>(Namespace, objects)),
    nodes: nodesOf(objects),
    secret: (name) => secrets.find(({ metadata }) => metadata.name === name),
  };
}

interface VisibleConfig {
  readonly view: ConfigScope;
  readonly visible: ConfigObjects;
}

function viewsOf(config: ConfigObjects, objects: readonly KubeObject[], { node }: LintContext): VisibleConfig[] {
  if (node !== undefined) return [{ view: { of: "node", node }, visible: { ...config, nodes: [nodeNamed(node, objects)] } }];
  if (config.nodes.length > 0) return [{ view: { of: "cluster" }, visible: config }];
  return selectorsIn(config).map((selectors) => ({ view: { of: "cluster" }, visible: whatSelects(selectors, config) }));
}

type Selecting = { spec: { nodeSelectors?: LabelSelector[] } };

/** One imagined node per list of selectors: which labels occur together is unknown. */
function selectorsIn({ peers, bgpAdvertisements }: ConfigObjects): string[] {
  const texts = new Set([...peers, ...bgpAdvertisements].map(textOf));
  if (texts.size > 1) texts.delete("");
  return texts.size === 0 ? [""] : [...texts];
}

/** Includes the objects without a selector. */
function whatSelects(selectors: string, config: ConfigObjects): ConfigObjects {
  const chosen = <T extends Selecting>(all: readonly T[]): T[] => all.filter((one) => ["", selectors].includes(textOf(one)));
  return { ...config, peers: chosen(config.peers), bgpAdvertisements: chosen(config.bgpAdvertisements) };
}

function textOf({ spec: { nodeSelectors = [] } }: Selecting): string {
  return nodeSelectors.length === 0 ? "" : JSON.stringify(nodeSelectors);
}
