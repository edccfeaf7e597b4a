import type { KubeClient } from "../kube/client/client.ts";
import { isKubeError } from "../kube/client/error.ts";
import type { SwitchPlan, PlannedWrite } from "./steps/step.ts";
import type { PolicyFailure } from "./policy/failure.ts";

const REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
/** How long a granted right is cached. A missing one is checked again with the next pass. */
const ALLOWED_MS = 60_000;
const DENIED_MS = 5_000;

interface Answer {
  readonly allowed: boolean;
  readonly at: number;
}

export class WriteRights {
  readonly #client: KubeClient;
  readonly #answers = new Map<string, Answer>();

  constructor(client: KubeClient) {
    this.#client = client;
  }

  /**
   * One failure per kind and namespace with a planned write that is not permitted. None for an outranked site: it stops what it can,
   * because the other site writes.
   */
  async missing({ steps, failures: problems }: SwitchPlan, signal: AbortSignal): Promise<PolicyFailure[]> {
    if (problems.some(({ reason }) => reason === "SplitBrain")) return [];
    const writes = steps.filter(({ state }) => state !== "Done").flatMap((step) => step.writes);
    const byScope = Map.groupBy(writes, (write) => {
      const { kind, object } = write;
      return `${verbOf(write)} ${kind.group}/${kind.plural}/${object.metadata.namespace ?? ""}`;
    });
    const failures = await Promise.all(
      [...byScope].map(async ([scope, [first, ...others]]): Promise<PolicyFailure[]> => {
        if (!first || (await this.#may(scope, first, signal))) return [];
        const verb = verbOf(first);
        const { namespace = "", name } = first.object.metadata;
        const more = others.length > 0 ? `, and ${others.length} more of them` : "";
        const resource = `${first.kind.plural}${first.kind.group === "" ? "" : `.${first.kind.group}`}`;
        const where = namespace === "" ? "" : ` in namespace ${namespace}`;
        const message = `The controller may not ${verb} ${resource}${where}, so it cannot ${first.description}${more}. Give its ClusterRole plumbline-failover-controller the verb ${verb} on ${resource}`;
        return [{ kind: first.kind.kind, namespace, name, reason: "Forbidden", message, class: "Transient" }];
      }),
    );
    return failures.flat();
  }

  /** A right for every namespace is checked once, not per namespace. */
  async #may(scope: string, write: PlannedWrite, signal: AbortSignal): Promise<boolean> {
    const { namespace = "" } = write.object.metadata;
    const known = this.#known(scope);
    if (known !== undefined) return known;
    const everywhere = scope.slice(0, scope.length - namespace.length);
    if (this.#known(everywhere) ?? (await this.#ask(everywhere, write, "", signal))) return true;
    return namespace !== "" && (await this.#ask(scope, write, namespace, signal));
  }

  #known(scope: string): boolean | undefined {
    const answer = this.#answers.get(scope);
    return answer && performance.now() - answer.at < (answer.allowed ? ALLOWED_MS : DENIED_MS) ? answer.allowed : undefined;
  }

  /** True if the check fails: the write itself shows the error. */
  async #ask(scope: string, write: PlannedWrite, namespace: string, signal: AbortSignal): Promise<boolean> {
    const { group, plural: resource } = write.kind;
    const resourceAttributes = { namespace, group, resource, verb: verbOf(write) };
    const body = { apiVersion: "authorization.k8s.io/v1", kind: "SelfSubjectAccessReview", spec: { resourceAttributes } };
    try {
      const { status } = await this.#client.request<{ status?: { allowed?: boolean } }>("POST", REVIEWS, {
        signal,
        body,
        repeatable: true,
      });
      const allowed = status?.allowed !== false;
      this.#answers.set(scope, { allowed, at: performance.now() });
      return allowed;
    } catch (error) {
      if (signal.aborted || !isKubeError(error)) throw error;
      return true;
    }
  }
}

function verbOf({ create }: PlannedWrite): "create" | "patch" {
  return create ? "create" : "patch";
}
