import type { Condition } from "../../api/kind.ts";
import type { Need, Standing, Thing } from "../../api/health.ts";

/** What is to be said of a thing, short of the thing. */
export type Word = Pick<Standing, "health"> & Partial<Pick<Standing, "reason" | "message" | "since" | "ownFault" | "remedy">>;

export const HEALTHY: Word = { health: "Healthy" };

export function objectOf(kind: string, { name, namespace }: { name: string; namespace?: string }): Thing {
  return { kind, ...(namespace !== undefined && { namespace }), name };
}

export function on(node: string, thing: Thing): Thing {
  return { ...thing, node };
}

export function frrOn(node: string): Thing {
  return { kind: "FRR", name: "lb", node };
}

export function conditionOf(conditions: readonly Condition[] | undefined, type: string): Condition | undefined {
  return conditions?.find((condition) => condition.type === type);
}

export function standing(thing: Thing, word: Word, needs: readonly Need[] = []): Standing {
  return { thing, domain: "loadbalancer", ...word, ...(needs.length > 0 && { needs }) };
}

/** What is wrong with a part is wrong with the whole, though it may go on without it. */
export function partOf(whole: Thing, part: Thing): Standing {
  return standing(whole, HEALTHY, [{ thing: part, as: "part" }]);
}

export function nodeThing(name: string): Thing {
  return { kind: "Node", name };
}
