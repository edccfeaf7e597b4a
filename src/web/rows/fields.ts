import { parseKey } from "../../api/kind.ts";
import type { Health } from "../../api/health.ts";
import type { ComponentHealth } from "../../explain/answer.ts";
import type { ConditionRow } from "../api.ts";

/** Without a verdict the health is unknown. */
export function reasonFields(verdict: ComponentHealth | undefined): { health: Health; reason?: string; message?: string; since?: string } {
  if (!verdict) return { health: "Unknown" };
  const { health, reason, message, since } = verdict;
  return definedFields({ health, reason, message, since });
}

type Present<T> = { [K in keyof T as undefined extends T[K] ? never : K]: T[K] } & {
  [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined | null>;
};

/** Drops fields that are undefined, null or empty. */
export function definedFields<T extends object>(fields: T): Present<T> {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== undefined && value !== null && value !== ""),
  ) as Present<T>;
}

interface Stored {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
  readonly lastTransitionTime?: string;
}

export function conditionsOf(conditions: readonly Stored[] = []): ConditionRow[] {
  return conditions.map(({ type, status, reason, message, lastTransitionTime: since }) =>
    definedFields({ type, status, reason, message, since }),
  );
}

/** The namespace in `namespace/name`. */
export function namespaceIn(key: string): { namespace?: string } {
  const { namespace } = parseKey(key);
  return namespace === undefined ? {} : { namespace };
}
