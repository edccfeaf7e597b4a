import type { KubeClient } from "../../kube/client/client.ts";
import { isKubeError } from "../../kube/client/error.ts";
import { agentRights, type Right } from "./agent-rights.ts";
import { fail, type CheckFinding, ok, type EnabledComponents, warn } from "./finding.ts";
import { joinFirst } from "../../util/text.ts";

const REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
/** Since this version the tokens of agents name their node, which the admission policies require. */
const OLDEST_MINOR = 30;
/** The maximum difference between clocks. Leases do not depend on it, but readers of timestamps do. */
const FAR_MS = 5_000;
const MAX_LISTED = 6;

export async function checkApi(client: KubeClient, parts: EnabledComponents, signal: AbortSignal): Promise<CheckFinding[]> {
  let version: { gitVersion?: string; minor?: string };
  try {
    version = await client.request("GET", "/version", { signal });
  } catch (error) {
    if (!isKubeError(error)) throw error;
    return [fail("api", error.message, "check the network, the address and the certificate in the kubeconfig")];
  }
  const findings: CheckFinding[] = [ok("api", `${client.access.server} answers, ${version.gitVersion ?? "of unknown version"}`)];
  const minor = Number.parseInt(version.minor ?? "", 10);
  if (minor < OLDEST_MINOR)
    findings.push(fail("api version", `Kubernetes 1.${minor} is older than 1.${OLDEST_MINOR}`, `upgrade to 1.${OLDEST_MINOR} or newer`));
  const apart = Math.abs((client.serverTime ?? Date.now()) - Date.now());
  if (apart > FAR_MS)
    findings.push(
      warn(
        "api time",
        `This clock and the server's differ by ${Math.round(apart / 1000)} s`,
        "synchronize both: chrony or systemd-timesyncd",
      ),
    );
  findings.push(await rights(client, parts, signal));
  return findings;
}

async function rights(client: KubeClient, parts: EnabledComponents, signal: AbortSignal): Promise<CheckFinding> {
  const wanted = agentRights(parts).flatMap(each);
  let answers: boolean[];
  try {
    answers = await Promise.all(wanted.map((one) => isAllowed(client, one, signal)));
  } catch (error) {
    if (isKubeError(error, "NotFound")) return ok("rights", "This API server has no authorization: every client has full access");
    if (!isKubeError(error)) throw error;
    return warn("rights", `Cannot read the permissions of this identity: ${error.message}`, "use another identity: --kubeconfig");
  }
  const missing = wanted.filter((_, at) => !answers[at]);
  if (missing.length === 0) return ok("rights", `This identity has all permissions of an agent (${wanted.length})`);
  const listed = joinFirst(missing.map(sentence), MAX_LISTED, { separator: "; ", more: "; and " });
  return fail(
    "rights",
    `This identity lacks ${missing.length} of the ${wanted.length} permissions of an agent: ${listed}`,
    "apply the RBAC of the chart, or use the agent's identity: --kubeconfig agent.kubeconfig",
  );
}

interface ResourceAttributes {
  readonly namespace?: string;
  readonly group: string;
  readonly resource: string;
  readonly subresource?: string;
  readonly verb: string;
  readonly name?: string;
}

/** One question for each verb, resource and name. */
export function each({ namespace, group, resources, verbs, names }: Right): ResourceAttributes[] {
  const questions: ResourceAttributes[] = [];
  for (const path of resources) {
    const [resource = "", subresource] = path.split("/");
    const where = { ...(namespace !== undefined && { namespace }), group, resource, ...(subresource !== undefined && { subresource }) };
    for (const verb of verbs) {
      if (names) for (const name of names) questions.push({ ...where, verb, name });
      else questions.push({ ...where, verb });
    }
  }
  return questions;
}

async function isAllowed(client: KubeClient, resourceAttributes: ResourceAttributes, signal: AbortSignal): Promise<boolean> {
  const body = { apiVersion: "authorization.k8s.io/v1", kind: "SelfSubjectAccessReview", spec: { resourceAttributes } };
  const { status } = await client.request<{ status?: { allowed?: boolean } }>("POST", REVIEWS, { signal, body, repeatable: true });
  return status?.allowed === true;
}

function sentence({ verb, resource, subresource, group, namespace }: ResourceAttributes): string {
  const what = `${resource}${subresource === undefined ? "" : `/${subresource}`}${group === "" ? "" : `.${group}`}`;
  return `${verb} ${what}${namespace === undefined ? "" : ` in ${namespace}`}`;
}
