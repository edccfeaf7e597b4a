import { componentLabel } from "../../api/annotations.ts";
import { ConfigMap } from "../../api/core/config-map.ts";
import { DaemonSet } from "../../api/core/daemon-set.ts";
import { Deployment } from "../../api/core/deployment.ts";
import { EndpointSlice } from "../../api/core/endpoint-slice.ts";
import { Event } from "../../api/core/event.ts";
import { Lease } from "../../api/core/lease.ts";
import { Namespace } from "../../api/core/namespace.ts";
import { Node } from "../../api/core/node.ts";
import { Pod } from "../../api/core/pod.ts";
import { Service } from "../../api/core/service.ts";
import { FailoverPolicy } from "../../api/failover/failover-policy.ts";
import { apiVersionOf, keyOf, type Kind, type KubeObject } from "../../api/kind.ts";
import { CUSTOM_KINDS } from "../../api/crds/kinds.ts";
import { managedBy } from "../../failover/policy/managed.ts";
import { stripObject } from "../../failover/observe/transforms.ts";
import { readLive } from "../../failover/observe/live-reader.ts";
import { type WatchedKinds, watchedKindsOf } from "../../failover/observe/watched-kinds.ts";
import { ServedKinds } from "../../failover/observe/served-kinds.ts";
import { servedKind } from "../../failover/observe/reader.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { isKubeError, type KubeError } from "../../kube/client/error.ts";
import { membersName } from "../../kube/members/members.ts";
import type { Missing } from "./manifest.ts";

interface ObjectsOfKind {
  readonly kind: Kind;
  readonly items: readonly KubeObject[];
}

export interface GatheredObjects {
  readonly kinds: readonly ObjectsOfKind[];
  readonly missing: readonly Missing[];
}

export interface GatherOptions {
  readonly client: KubeClient;
  /** The namespace of our Leases and programs. */
  readonly namespace: string;
  readonly signal: AbortSignal;
}

interface Wanted {
  readonly kind: Kind;
  readonly keep?: (object: KubeObject) => boolean;
  readonly where?: { readonly namespace?: string; readonly labelSelector?: string; readonly fieldSelector?: string };
}

/**
 * Everything that explains the state of Plumbline: its kinds, the objects they refer to, and its programs. Secrets are never read.
 * Forbidden and missing kinds are listed; only an unreachable server is an error.
 */
export async function gatherObjects({ client, namespace, signal }: GatherOptions): Promise<GatheredObjects> {
  const gathered = new Gathered();
  const list = async ({ kind, where, keep }: Wanted) => {
    try {
      const { items } = await client.resource(kind).list({ ...where, signal });
      gathered.add(kind, keep ? items.filter(keep) : items);
    } catch (error) {
      gathered.miss(kind, error);
    }
  };
  for (const wanted of wantedKinds(namespace)) await list(wanted);
  await gatherManaged(client, gathered, signal);
  return gathered;
}

function wantedKinds(namespace: string): Wanted[] {
  const ours = [Deployment, DaemonSet, Pod].map((kind): Wanted => ({ kind, where: { namespace } }));
  return [
    ...[Namespace, Node, Service, EndpointSlice].map((kind): Wanted => ({ kind })),
    ...CUSTOM_KINDS.map((kind): Wanted => ({ kind })),
    { kind: Lease, where: { namespace } },
    { kind: Lease, where: { labelSelector: componentLabel } },
    { kind: ConfigMap, where: { namespace, fieldSelector: `metadata.name=${membersName}` } },
    ...ours,
    { kind: Event, keep: (event) => isAboutUs(event as Event, namespace) },
  ];
}

const SPOKEN_OF = new Set([...CUSTOM_KINDS, Node, Service].map(({ kind }) => kind));

/** Events of unrelated pods stay private. */
function isAboutUs({ involvedObject, source, reportingComponent = "" }: Event, namespace: string): boolean {
  const teller = source?.component ?? reportingComponent;
  return SPOKEN_OF.has(involvedObject.kind ?? "") || involvedObject.namespace === namespace || teller.startsWith("plumbline");
}

/** The resources of FailoverPolicies, with the fields that plans use. */
async function gatherManaged(client: KubeClient, gathered: Gathered, signal: AbortSignal): Promise<void> {
  const policies = gathered.of(FailoverPolicy) as readonly FailoverPolicy[];
  if (policies.length === 0) return;
  const watched: WatchedKinds = watchedKindsOf(policies.flatMap((policy) => managedBy(policy).managed));
  const served = new ServedKinds(client);
  const reader = await readLive(client, served, watched, signal);
  for (const [name, namespaces] of watched) {
    const kind = servedKind(name, served);
    for (const namespace of namespaces.keys()) {
      const found = reader.all(name, namespace);
      if ("found" in kind && "found" in found) gathered.add(kind.found, found.found.map(stripObject(name)));
      else gathered.lack(`objects/${name} in ${namespace}`, "error" in found ? found.error : "the server has no such kind");
    }
  }
}

class Gathered {
  readonly #kinds = new Map<string, { kind: Kind; objects: Map<string, KubeObject> }>();
  readonly missing: Missing[] = [];

  get kinds(): ObjectsOfKind[] {
    return Array.from(this.#kinds.values(), ({ kind, objects }) => ({ kind, items: [...objects.values()] }));
  }

  of(kind: Kind): readonly KubeObject[] {
    return [...(this.#kinds.get(nameOf(kind))?.objects.values() ?? [])];
  }

  add(kind: Kind, items: readonly KubeObject[]): void {
    const { objects } = this.#kinds.get(nameOf(kind)) ?? { kind, objects: new Map<string, KubeObject>() };
    this.#kinds.set(nameOf(kind), { kind, objects });
    for (const { metadata, ...rest } of items) {
      const object = { apiVersion: apiVersionOf(kind), kind: kind.kind, metadata: { ...metadata } };
      delete object.metadata.managedFields;
      objects.set(keyOf(object), { ...rest, ...object });
    }
  }

  miss(kind: Kind, error: unknown): void {
    if (!isKubeError(error)) throw error;
    if (isKubeError(error, "Unreachable", "Timeout", "Unauthorized", "Certificate")) throw error;
    this.lack(`objects/${kind.plural}${kind.group === "" ? "" : `.${kind.group}`}`, why(error));
  }

  lack(what: string, why: string): void {
    this.missing.push({ what, why });
  }
}

function why(error: KubeError): string {
  return error.code === "NotFound" ? "the server has no such kind" : error.message;
}

function nameOf({ group, kind }: Kind): string {
  return `${kind}.${group}`;
}
