import type { KubeObject } from "../../api/kind.ts";
import { connectivityRule, connectivityWarnings } from "./connectivity-rule.ts";
import { failoverRule } from "./failover-rule.ts";
import { loadBalancerRule, loadBalancerWarnings } from "./loadbalancer-rule.ts";
import { routerRule, routerWarnings } from "./router-rule.ts";

export interface LintFailure {
  readonly kind: string;
  readonly name: string;
  /** Empty for cluster-scoped objects. */
  readonly namespace: string;
  readonly reason: string;
  /** Such as `spec.vni`; empty for the object as a whole. */
  readonly field: string;
  readonly message: string;
  /** A transient failure can disappear by itself. */
  readonly class: "Permanent" | "Transient";
}

export interface LintContext {
  readonly node?: string;
  readonly interfaces?: readonly string[];
  readonly metallbNamespace?: string;
}

/** Checks objects together. Each of them is valid by its schema, with defaults filled. */
export type LintRule = (objects: readonly KubeObject[], context: LintContext) => readonly LintFailure[];

/** Valid, but likely a mistake. */
export type LintWarning = Pick<LintFailure, "kind" | "name" | "namespace" | "field" | "message">;

export type LintWarningRule = (objects: readonly KubeObject[], context: LintContext) => readonly LintWarning[];

export const LINT_RULES: readonly LintRule[] = [routerRule, loadBalancerRule, connectivityRule, failoverRule];
export const LINT_WARNING_RULES: readonly LintWarningRule[] = [routerWarnings, loadBalancerWarnings, connectivityWarnings];
