import type { KubeObject } from "../../api/kind.ts";
import { connectivityRule, connectivityWarnings } from "./connectivity-rule.ts";
import { failoverRule } from "./failover-rule.ts";
import { loadBalancerRule, loadBalancerWarnings } from "./loadbalancer-rule.ts";
import { routerRule, routerWarnings } from "./router-rule.ts";

/** What is wrong with one object. */
export interface LintFailure {
  readonly kind: string;
  readonly name: string;
  /** Empty for what lives in no namespace. */
  readonly namespace: string;
  readonly reason: string;
  /** The field to change, such as `spec.vni`; empty where it is the object as a whole. */
  readonly field: string;
  readonly message: string;
  /** Whether it can pass by itself. */
  readonly class: "Permanent" | "Transient";
}

/** What a user has told of the node that the objects are meant for. */
export interface LintContext {
  readonly node?: string;
  readonly interfaces?: readonly string[];
  /** Where the load balancer's configuration is to be; otherwise where it is by default. */
  readonly metallbNamespace?: string;
}

/** Looks at objects that are each fine by their schema, defaults filled, and says what is wrong with them together. */
export type LintRule = (objects: readonly KubeObject[], context: LintContext) => readonly LintFailure[];

/** What is not wrong, but surely not meant. */
export type LintWarning = Pick<LintFailure, "kind" | "name" | "namespace" | "field" | "message">;

/** Looks at the same, and says what is surely not meant. */
export type LintWarningRule = (objects: readonly KubeObject[], context: LintContext) => readonly LintWarning[];

/** The rules of every domain. */
export const LINT_RULES: readonly LintRule[] = [routerRule, loadBalancerRule, connectivityRule, failoverRule];
export const LINT_WARNING_RULES: readonly LintWarningRule[] = [routerWarnings, loadBalancerWarnings, connectivityWarnings];
