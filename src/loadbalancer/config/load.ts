import type { Failure } from "../../resilience/failure.ts";
import type { Config } from "./config.ts";
import type { ConfigObjects } from "./objects.ts";

/** Whose eyes it is looked at with: the controller's sees pools and communities, a node's what selects it, the cluster's all of it. */
export type View = { readonly of: "controller" } | { readonly of: "node"; readonly node: string } | { readonly of: "cluster" };

/** The form that a resource was last live in, by `Kind/name`. */
export type LastGood = ReadonlyMap<string, { readonly uid: string; readonly generation: number; readonly spec: unknown }>;

export interface ConfigFailure extends Failure {
  /** Which rule, as docs/configuration-errors.md lists them: `T1`, `A5`. */
  readonly rule: string;
  readonly generation: number;
}

/** Not wrong, but surely not meant: a pool that nothing announces, a peer's name that nobody has. */
export interface Warning {
  readonly kind: string;
  readonly name: string;
  readonly field: string;
  readonly message: string;
}

export interface Loaded {
  readonly config: Config;
  /** All of them, sorted by kind, name and field. */
  readonly failures: readonly ConfigFailure[];
  readonly warnings: readonly Warning[];
  /** Every resource of the view and what became of it. */
  readonly resources: readonly { kind: string; name: string; generation: number; state: "Applied" | "Failed" | "KeptPrevious" }[];
  /** What to remember for the next time. */
  readonly lastGood: LastGood;
}

export interface LoadOptions {
  readonly view: View;
  readonly lastGood: LastGood;
  readonly now: Date;
}

/** From what stands in the cluster to what is in effect. Pure; one bad resource costs no other. */
export function loadConfig(_objects: ConfigObjects, _options: LoadOptions): Loaded {
  throw new Error("not built yet");
}
