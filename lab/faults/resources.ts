import type { Kind, KubeObject } from "../../src/api/kind.ts";
import type { Domain } from "../../src/api/health.ts";
import { isKubeError } from "../../src/kube/client/error.ts";
import { METALLB_NAMESPACE, ROUTER_NAMESPACE } from "../cli/api.ts";
import { type Expectation, type Fault, type Flow, DETECTION_LIMIT_MS } from "./fault.ts";

/** An object that is applied. */
export interface Made {
  readonly kind: Kind;
  readonly object: { readonly metadata: KubeObject["metadata"]; readonly [field: string]: unknown };
}

/** Somebody applies these; to fix it is to delete them again. */
export function applied(about: string, domain: Domain, made: readonly Made[], expected: Expectation): Fault {
  return {
    about,
    domain,
    break: async ({ client, signal }) => {
      for (const { kind, object } of made) await client.resource(kind).create(object, { signal });
    },
    fix: async ({ client, signal }) => {
      for (const { kind, object } of made.toReversed()) {
        const { name, namespace } = object.metadata;
        await client
          .resource(kind)
          .delete({ name, ...(namespace !== undefined && { namespace }) }, { signal })
          .catch((error: unknown) => {
            if (!isKubeError(error, "NotFound")) throw error;
          });
      }
    },
    expect: () => expected,
  };
}

interface Edit {
  readonly kind: Kind;
  readonly name: string;
  readonly namespace: string;
  /** As a merge patch. */
  readonly change: object;
  readonly back: object;
}

/** Somebody edits an object that works. */
export function edited(about: string, domain: Domain, { kind, name, namespace, change, back }: Edit, expected: Expectation): Fault {
  return {
    about,
    domain,
    break: async ({ client, signal }) => void (await client.resource(kind).patch({ name, namespace }, change, { signal })),
    fix: async ({ client, signal }) => void (await client.resource(kind).patch({ name, namespace }, back, { signal })),
    expect: () => expected,
  };
}

/** Every router that it is for says that it is not live. */
export function rejectedByRouters(kind: string, name: string, reason: string, { interrupts = [] as readonly Flow[] } = {}): Expectation {
  const status = "^RouterNodeConfigurationStatus [^ ]+:";
  return {
    says: new RegExp(`${status} ${kind} ${name} ${reason}$`),
    untrue: new RegExp(`${status} (Ready=True|Degraded=False|${kind} ${name} Applied)`),
    cause: new RegExp(`^${kind}/${ROUTER_NAMESPACE}/${name}(@[^ ]+)? ${reason}`),
    withinMs: DETECTION_LIMIT_MS.rejected,
    interrupts,
  };
}

/** The load balancer's configuration is not valid because of it. */
export function rejectedByBalancer(kind: string, name: string, { cause = `${kind}/${METALLB_NAMESPACE}/${name}` } = {}): Expectation {
  return {
    says: new RegExp(`^ConfigurationState [^ ]+: ${kind} ${name} `),
    untrue: /^ConfigurationStatus [^ ]+: Valid=True/,
    cause: new RegExp(`^(${cause})(@[^ ]+)? `),
    withinMs: DETECTION_LIMIT_MS.rejected,
  };
}
