import type { Service } from "../../api/core/service.ts";
import { keyOf } from "../../api/kind.ts";
import type { Address, Family } from "../../ip/address.ts";
import { quote } from "../../ip/error.ts";
import { readAddress } from "./service-view.ts";

export interface AddressRequest {
  readonly key: string;
  readonly uid: string;
  /** When it was created, in milliseconds; Infinity: unknown, younger than all others. */
  readonly since: number;
  readonly namespace: string;
  readonly labels: Readonly<Record<string, string>>;
  /** The families of its cluster IPs, the primary one first. Two only if two addresses are wanted. */
  readonly families: readonly Family[];
  /** With two families: whether one address is enough. */
  readonly policy: "SingleStack" | "PreferDualStack" | "RequireDualStack";
  /** Exactly these. */
  readonly addresses?: readonly Address[];
  /** From this pool alone. */
  readonly pool?: string;
  readonly sharing: Sharing;
  /** The pool in the Service's annotation; it counts while that pool has no valid version. */
  readonly allocatedFrom?: string;
}

/** Two Services may share an address if their keys are equal and not empty, their backends are equal, and they have no port in common. */
export interface Sharing {
  readonly key: string;
  /** With externalTrafficPolicy Local the selector, else "". */
  readonly backend: string;
  /** `TCP/80`, sorted. */
  readonly ports: readonly string[];
}

interface InvalidRequest {
  readonly reason: string;
  readonly message: string;
}

const PREFIX = "metallb.io/";
const OLD_PREFIX = "metallb.universe.tf/";
/** One of each family. */
const MOST_REQUESTED = 2;
const READ = ["address-pool", "loadBalancerIPs", "allow-shared-ip"] as const;

/** Of type LoadBalancer and of our class; without a class of our own, only Services without one. */
export function isOurs(service: Service, lbClass: string | undefined): boolean {
  return service.spec.type === "LoadBalancer" && (service.spec.loadBalancerClass || undefined) === (lbClass || undefined);
}

/** `deprecated` lists annotations with the old prefix. */
export function addressRequestOf(service: Service): { request: AddressRequest; deprecated: string[] } | { invalid: InvalidRequest } {
  const { metadata, spec } = service;
  const families = familiesOf(service);
  if ("reason" in families) return { invalid: families };
  const addresses = requested(service, families.wanted);
  if ("reason" in addresses) return { invalid: addresses };

  const pool = annotation(service, "address-pool");
  const allocatedFrom = metadata.annotations?.[`${PREFIX}ip-allocated-from-pool`];
  const request: AddressRequest = {
    key: keyOf(service),
    uid: metadata.uid ?? "",
    since: creationTime(service),
    namespace: metadata.namespace ?? "",
    labels: metadata.labels ?? {},
    families: families.wanted,
    policy: families.policy,
    sharing: {
      key: annotation(service, "allow-shared-ip") ?? "",
      backend: spec.externalTrafficPolicy === "Local" ? backendOf(spec.selector ?? {}) : "",
      ports: [...new Set(spec.ports?.map(({ protocol, port }) => `${protocol ?? "TCP"}/${port}`))].sort(),
    },
    ...(addresses.wanted.length > 0 && { addresses: addresses.wanted }),
    ...(pool && { pool }),
    ...(allocatedFrom && { allocatedFrom }),
  };
  return { request, deprecated: READ.map((name) => OLD_PREFIX + name).filter((name) => metadata.annotations?.[name]) };
}

/** In milliseconds; Infinity if it is unknown. */
export function creationTime({ metadata }: Pick<Service, "metadata">): number {
  const time = Date.parse(metadata.creationTimestamp ?? "");
  return Number.isNaN(time) ? Infinity : time;
}

function annotation({ metadata: { annotations = {} } }: Service, name: (typeof READ)[number]): string | undefined {
  return annotations[PREFIX + name] || annotations[OLD_PREFIX + name] || undefined;
}

function familiesOf({ spec }: Service): { wanted: Family[]; policy: AddressRequest["policy"] } | InvalidRequest {
  const clusterIPs = (spec.clusterIPs?.length ? spec.clusterIPs : [spec.clusterIP ?? ""]).filter((ip) => ip !== "");
  // The embedded API assigns no cluster IPs, but sets ipFamilies.
  const named = spec.ipFamilies?.map((family) => (family === "IPv6" ? 6 : 4)) ?? [];
  const families = clusterIPs.length > 0 ? clusterIPs.map((ip) => readAddress(ip)?.family) : named;
  const known = families.filter((family) => family !== undefined);
  if (known.length === 0 || known.length < families.length || new Set(known).size < known.length) {
    const found = clusterIPs.length === 0 ? "the Service has no cluster IP" : `its cluster IPs are ${quotedList(clusterIPs)}`;
    return { reason: "noclusterIPsIPFamily", message: `cannot determine the IP families: ${found}` };
  }
  const policy = spec.ipFamilyPolicy ?? (known.length > 1 ? "RequireDualStack" : "SingleStack");
  if (policy === "RequireDualStack" && known.length < 2) {
    return {
      reason: "not enough clusterips",
      message: `RequireDualStack needs a cluster IP of each family, but the Service has only ${quotedList(clusterIPs)}`,
    };
  }
  return { wanted: policy === "SingleStack" ? known.slice(0, 1) : known, policy };
}

function requested(service: Service, families: readonly Family[]): { wanted: Address[] } | InvalidRequest {
  const [list, single] = [annotation(service, "loadBalancerIPs"), service.spec.loadBalancerIP];
  if (!list && !single) return { wanted: [] };
  if (list && single) return failed(`service can not have both ${PREFIX}loadBalancerIPs and svc.Spec.LoadBalancerIP`);

  const texts = list ? list.split(",", MOST_REQUESTED + 1).map((text) => text.trim()) : [single ?? ""];
  const addresses = texts.map(readAddress).filter((address) => address !== undefined);
  if (addresses.length < texts.length) {
    return failed(list ? `invalid ${PREFIX}loadBalancerIPs: ${quote(list)}` : `invalid spec.loadBalancerIP ${quote(single ?? "")}`);
  }
  const requestedFamilies = new Set(addresses.map(({ family }) => family));
  if (requestedFamilies.size < addresses.length) {
    return failed(`invalid ${PREFIX}loadBalancerIPs: ${quote(list ?? "")}: at most one address of each family can be requested`);
  }
  if (requestedFamilies.size !== families.length || !families.every((family) => requestedFamilies.has(family))) {
    return {
      reason: "AllocationFailed",
      message: `requested loadBalancer IP(s) ${quotedList(addresses)} does not match the ipFamily of the service`,
    };
  }
  return { wanted: addresses };
}

function failed(message: string): InvalidRequest {
  return { reason: "LoadBalancerFailed", message };
}

function backendOf(selector: Readonly<Record<string, string>>): string {
  return Object.entries(selector)
    .map(([key, value]) => `${key}=${value}`)
    .sort()
    .join(",");
}

/** `["10.0.0.1" "fc00::1"]` */
export function quotedList(items: readonly (Address | string)[]): string {
  return `[${items.map((item) => quote(item.toString())).join(" ")}]`;
}
