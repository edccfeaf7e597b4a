import type { Role } from "../../api/failover/failover-policy.ts";
import { kindAndName, change, foundResources, readResources, missingState, unreadable } from "./resources.ts";
import type { ObservedPolicy } from "../observe/observed.ts";
import type { ResourceState, StepInput } from "./step.ts";

const KIND = ["VirtualService"] as const;
const VALUE: Record<Role, string> = { primary: "dns-controller", secondary: "ignore" };

/** The key while nothing else is configured. external-dns from 0.22 on has another prefix by default. */
const DNS_ANNOTATION = "external-dns.alpha.kubernetes.io/controller";

/** Names resolve to the primary site only: external-dns skips objects with a value other than its own. */
export function updateDns(observed: ObservedPolicy, to: Role): StepInput {
  const key = observed.dnsAnnotation ?? DNS_ANNOTATION;
  const writes = foundResources(observed, KIND)
    .filter(({ object }) => object.metadata.annotations?.[key] !== VALUE[to])
    .map(({ object }) => {
      const description = `set annotation ${key} of ${kindAndName("VirtualService", object)} to ${VALUE[to]}`;
      return change(observed.kindOf("VirtualService"), object, { [key]: VALUE[to] }, {}, description);
    });
  return { writes, waits: unreadable(observed, KIND) };
}

export function dnsStates(observed: ObservedPolicy): ResourceState[] {
  const key = observed.dnsAnnotation ?? DNS_ANNOTATION;
  return readResources(observed, KIND).map((read) => {
    const { resource, result } = read;
    const value = "found" in result ? result.found.metadata.annotations?.[key] : undefined;
    const state = value === undefined || value === VALUE.primary ? "Active" : "Ignored";
    return missingState(read) ?? { resource, state };
  });
}
