import { L2VNI } from "../../api/openpe/l2vni.ts";
import { L3Passthrough } from "../../api/openpe/l3passthrough.ts";
import { L3VNI } from "../../api/openpe/l3vni.ts";
import { RawFRRConfig } from "../../api/openpe/raw-frr-config.ts";
import { Underlay } from "../../api/openpe/underlay.ts";
import { type KubeObject, manifestsOf } from "../../api/kind.ts";
import { Node } from "../../api/core/node.ts";
import { Secret } from "../../api/core/secret.ts";
import { readObjects } from "../../router/dialects/read-objects.ts";
import type { ObservedInterface, ObservedNode, Password, RouterObjects } from "../../router/model/observed.ts";

/** An imagined node: what the user says about it; everything else is as the configuration requires. */
export interface OfflineNode {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly index: number;
  /** If unset, every interface that the configuration names. */
  readonly interfaces?: readonly string[] | undefined;
}

/** The annotation with a node's index. */
const INDEX = "openpe.io/nodeindex";

/** From a Node among the manifests, or a default one. */
export function nodeNamed(name: string, objects: readonly KubeObject[]): OfflineNode {
  return nodesOf(objects).find((node) => node.name === name) ?? { name, labels: { "kubernetes.io/hostname": name }, index: 0 };
}

/** Nodes without an index annotation are numbered in the order of the manifests. */
export function nodesOf(objects: readonly KubeObject[]): OfflineNode[] {
  return manifestsOf<Node>(Node, objects).map(({ metadata: { name, labels = {}, annotations = {} } }, nth) => {
    const index = annotations[INDEX] ?? "";
    return { name, labels, index: /^\d+$/.test(index) ? Number(index) : nth };
  });
}

export function routerObjects(objects: readonly KubeObject[]): RouterObjects {
  return readObjects({
    underlays: manifestsOf<Underlay>(Underlay, objects),
    l2vnis: manifestsOf<L2VNI>(L2VNI, objects),
    l3vnis: manifestsOf<L3VNI>(L3VNI, objects),
    passthroughs: manifestsOf<L3Passthrough>(L3Passthrough, objects),
    rawConfigs: manifestsOf<RawFRRConfig>(RawFRRConfig, objects),
  });
}

/** What the agent of an imagined node would observe. `around` may have the Secrets of neighbors. */
export function observeOffline(
  { name, labels, index, interfaces }: OfflineNode,
  objects: RouterObjects,
  around: readonly KubeObject[],
): ObservedNode {
  return {
    node: { name, labels },
    index,
    objects,
    passwords: passwords(objects, manifestsOf<Secret>(Secret, around)),
    interfaces: { host: interfacesFor(objects, interfaces), router: [] },
    guarded: new Map(),
    ovs: true,
    lastGood: new Map(),
    newlySelectedAt: new Map(),
    now: new Date(),
  };
}

/** A missing Secret is assumed to exist elsewhere. */
function passwords({ underlays }: RouterObjects, secrets: readonly Secret[]): Map<string, Password> {
  const names = underlays.flatMap(({ spec }) => (spec.neighbors ?? []).flatMap(({ passwordSecret }) => passwordSecret ?? []));
  return new Map(
    names.map((name) => {
      const secret = secrets.find(({ metadata }) => metadata.name === name);
      if (!secret) return [name, { password: "********" }];
      const encoded = secret.data?.["password"];
      const password = secret.stringData?.["password"] ?? (encoded === undefined ? undefined : Buffer.from(encoded, "base64").toString());
      return [name, password === undefined ? { problem: `Secret ${name} has no key password` } : { password }];
    }),
  );
}

function interfacesFor({ underlays, l2vnis }: RouterObjects, given: readonly string[] | undefined): ObservedInterface[] {
  const bridges = l2vnis.flatMap(({ spec }) => spec.hostmaster?.linuxBridge?.name ?? []);
  const nics = underlays.flatMap(({ spec }) => [...(spec.nics ?? []), ...(spec.evpn?.vtepInterface ? [spec.evpn.vtepInterface] : [])]);
  return [...new Set(given ?? [...nics, ...bridges])].map((name) => {
    // A documentation address stands for the VTEP's address on its interface.
    return bridges.includes(name) ? { name, addresses: [], kind: "bridge" } : { name, addresses: ["192.0.2.1/32"] };
  });
}
