import type { Service } from "../../api/core/service.ts";
import { IPAddressPool } from "../../api/metallb/ip-address-pool.ts";
import type { Sight, Standing, Thing } from "../../api/health.ts";
import { annotatedPool } from "../controller/service-patch.ts";
import { readService } from "../services/read-services.ts";
import { readWish } from "../services/address-request.ts";
import { conditionOf, objectOf, standing, type Word } from "../explaining/things.ts";

/** Why a Service has no address: the pools that are to blame, or the field of the Service that is. */
export interface Lack {
  readonly pools: readonly Standing[];
  readonly word: Pick<Word, "ownFault" | "remedy">;
}

const POOL = "metadata.annotations[metallb.io/address-pool]";
const ADDRESSES = "metadata.annotations[metallb.io/loadBalancerIPs]";

/** `message` is the refusal as the controller words it: a pool, and why not, one after the other. */
export function lackOf(service: Service, message: string, namespace: string, sight: Sight): Lack {
  const thing = objectOf("Service", service.metadata);
  const tried = [...message.matchAll(/pool ([a-z0-9.-]+): ((?:(?!; (?:pool |and \d+ more)).)*)/g)].map(([, pool = "", why = ""]) => ({
    pool,
    why,
  }));
  const pools = tried.flatMap(({ pool, why }) => poolWord({ kind: "IPAddressPool", namespace, name: pool }, why, sight));
  if (pools.length > 0) return { pools, word: {} };
  const field = fieldOf(service);
  const text =
    message.includes("there is no IPAddressPool") || message.includes("there are no pools")
      ? `create an IPAddressPool in namespace ${namespace}`
      : field === undefined
        ? "have the spec.serviceAllocation of a pool select it, or name a pool that does in its annotation metallb.io/address-pool"
        : `change ${field}: ask for what a pool has and may give`;
  return { pools: [], word: { ownFault: true, remedy: { text, change: { thing, ...(field !== undefined && { field }) } } } };
}

/** Of a pool that is for the Service and has nothing for it. */
function poolWord(thing: Thing, why: string, sight: Sight): Standing[] {
  // What is wrong with its configuration its component tells.
  if (why.startsWith("its configuration is invalid")) return [standing(thing, { health: "Healthy" })];
  const isFull = /^all \d+ IPv[46] addresses are in use/.test(why);
  if (!isFull) return [];
  const exhausted = conditionOf(sight.get(IPAddressPool, `${thing.namespace}/${thing.name}`)?.status?.conditions, "Exhausted");
  return [
    standing(thing, {
      health: "Down",
      reason: "Exhausted",
      message: `IPAddressPool ${thing.name} has nothing left for a Service that waits: ${why}`,
      ...(exhausted?.status === "True" && { since: exhausted.lastTransitionTime }),
      ownFault: true,
      remedy: { text: "add addresses to spec.addresses, or delete Services that need none", change: { thing, field: "spec.addresses" } },
    }),
  ];
}

function fieldOf({ metadata: { annotations = {} }, spec }: Service): string | undefined {
  const given = (name: string) => Boolean(annotations[`metallb.io/${name}`] || annotations[`metallb.universe.tf/${name}`]);
  if (given("loadBalancerIPs")) return ADDRESSES;
  if (spec.loadBalancerIP) return "spec.loadBalancerIP";
  return given("address-pool") ? POOL : undefined;
}

/** What a Service has asked for since and cannot have: it keeps what it had. */
export function unmetWish(service: Service): Word | undefined {
  const { addresses } = readService(service, []);
  const from = annotatedPool(service);
  if (addresses.length === 0 || from === undefined) return undefined;
  const read = readWish(service);
  const thing = objectOf("Service", service.metadata);
  const field = fieldOf(service);
  const unmet = (message: string): Word => ({
    health: "Degraded",
    reason: "RequestUnmet",
    message: `${message}; it keeps ${addresses.join(", ")} of pool ${from}`,
    ownFault: true,
    remedy: {
      text: field === undefined ? "change what it asks for" : `change ${field}: its Events say why it cannot have that`,
      change: { thing, ...(field !== undefined && { field }) },
      command: `plumbline describe service ${service.metadata.name} -n ${service.metadata.namespace}`,
    },
  });
  if ("refused" in read) return unmet(read.refused.message);
  const { pool, addresses: asked } = read.wish;
  if (pool !== undefined && pool !== from) return unmet(`It asks for an address of pool ${pool}`);
  const isMet = !asked || (asked.length === addresses.length && asked.every((one) => addresses.some((other) => other.equals(one))));
  return isMet ? undefined : unmet(`It asks for ${asked.join(", ")}`);
}
