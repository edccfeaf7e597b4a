import type { Service } from "../../api/core/service.ts";
import { IPAddressPool } from "../../api/metallb/ip-address-pool.ts";
import type { ObjectReader, HealthStatement, Component } from "../../api/health.ts";
import { isExhausted, POOL_INVALID, triedPools, type TriedPool } from "../allocator/no-address.ts";
import { annotatedPool } from "../controller/published-addresses.ts";
import { readService } from "../services/service-view.ts";
import { addressRequestOf } from "../services/address-request.ts";
import { conditionOf, objectOf, statement, type StatementBody } from "./components.ts";

/** Why a Service has no address: the pools at fault, or the field of the Service. */
export interface NoAddressCause {
  readonly pools: readonly HealthStatement[];
  readonly body: Pick<StatementBody, "ownFault" | "fix">;
}

const POOL = "metadata.annotations[metallb.io/address-pool]";
const ADDRESSES = "metadata.annotations[metallb.io/loadBalancerIPs]";

/** `message` is the controller's text: pools, each with the reason why it was not used. */
export function noAddressCause(service: Service, message: string, namespace: string, reader: ObjectReader): NoAddressCause {
  const component = objectOf("Service", service.metadata);
  const pools = triedPools(message).flatMap((tried) => poolStatements(tried, namespace, reader));
  if (pools.length > 0) return { pools, body: {} };
  const field = fieldOf(service);
  const text =
    message.includes("no IPAddressPool exists") || message.includes("no pools are configured")
      ? `create an IPAddressPool in namespace ${namespace}`
      : field === undefined
        ? "change spec.serviceAllocation of a pool to select it, or name a pool in its annotation metallb.io/address-pool"
        : `change ${field}: request what a pool contains and may assign`;
  return { pools: [], body: { ownFault: true, fix: { text, change: { component, ...(field !== undefined && { field }) } } } };
}

/** A pool that selects the Service and has no free address. */
function poolStatements(tried: TriedPool, namespace: string, reader: ObjectReader): HealthStatement[] {
  const { pool, why } = tried;
  const component: Component = { kind: "IPAddressPool", namespace, name: pool };
  // The component of the pool explains its configuration errors.
  if (why.startsWith(POOL_INVALID)) return [statement(component, { health: "Healthy" })];
  if (!isExhausted(tried)) return [];
  const exhausted = conditionOf(reader.get(IPAddressPool, `${namespace}/${pool}`)?.status?.conditions, "Exhausted");
  return [
    statement(component, {
      health: "Down",
      reason: "Exhausted",
      message: `IPAddressPool ${pool} has no free address for a waiting Service: ${why}`,
      ...(exhausted?.status === "True" && { since: exhausted.lastTransitionTime }),
      ownFault: true,
      fix: {
        text: "add addresses to spec.addresses, or delete unused Services",
        change: { component, field: "spec.addresses" },
      },
    }),
  ];
}

function fieldOf({ metadata: { annotations = {} }, spec }: Service): string | undefined {
  const given = (name: string) => Boolean(annotations[`metallb.io/${name}`] || annotations[`metallb.universe.tf/${name}`]);
  if (given("loadBalancerIPs")) return ADDRESSES;
  if (spec.loadBalancerIP) return "spec.loadBalancerIP";
  return given("address-pool") ? POOL : undefined;
}

/** A new request that cannot be met: the Service keeps its addresses. */
export function unmetRequest(service: Service): StatementBody | undefined {
  const { addresses } = readService(service, []);
  const from = annotatedPool(service);
  if (addresses.length === 0 || from === undefined) return undefined;
  const read = addressRequestOf(service);
  const component = objectOf("Service", service.metadata);
  const field = fieldOf(service);
  const unmet = (message: string): StatementBody => ({
    health: "Degraded",
    reason: "RequestUnmet",
    message: `${message}; keeping ${addresses.join(", ")} of pool ${from}`,
    ownFault: true,
    fix: {
      text: field === undefined ? "change the request" : `change ${field}; see its Events for the reason`,
      change: { component, ...(field !== undefined && { field }) },
      command: `plumbline describe service ${service.metadata.name} -n ${service.metadata.namespace}`,
    },
  });
  if ("invalid" in read) return unmet(read.invalid.message);
  const { pool, addresses: requested } = read.request;
  if (pool !== undefined && pool !== from) return unmet(`The Service requests an address of pool ${pool}`);
  const isMet =
    !requested || (requested.length === addresses.length && requested.every((one) => addresses.some((other) => other.equals(one))));
  return isMet ? undefined : unmet(`The Service requests ${requested.join(", ")}`);
}
