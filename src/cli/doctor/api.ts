import type { KubeClient } from "../../kube/client/client.ts";
import { isKubeError } from "../../kube/client/error.ts";
import { agentRights, type Right } from "./agent-rights.ts";
import { fail, type Finding, ok, type Parts, warn } from "./finding.ts";

const REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
/** From there on the tokens of agents say on which node they run, without which their reports are refused. */
const OLDEST_MINOR = 30;
/** Between clocks. Leases are not compared with them, but people are. */
const FAR_MS = 5_000;
const SHOWN = 6;

/** Whether the API server answers, keeps the same time, and would let an agent with this identity do its work. */
export async function reachApi(client: KubeClient, parts: Parts, signal: AbortSignal): Promise<Finding[]> {
  let version: { gitVersion?: string; minor?: string };
  try {
    version = await client.request("GET", "/version", { signal });
  } catch (error) {
    if (!isKubeError(error)) throw error;
    return [
      fail("api", error.message, "agents need the API server: look at the network, the address and the certificate in the kubeconfig"),
    ];
  }
  const findings: Finding[] = [ok("api", `${client.access.server} answers, ${version.gitVersion ?? "of unknown version"}`)];
  const minor = Number.parseInt(version.minor ?? "", 10);
  if (minor < OLDEST_MINOR)
    findings.push(fail("api version", `Kubernetes 1.${minor} is older than 1.${OLDEST_MINOR}`, `upgrade to 1.${OLDEST_MINOR} or newer`));
  const apart = Math.abs((client.serverTime ?? Date.now()) - Date.now());
  if (apart > FAR_MS)
    findings.push(
      warn(
        "api time",
        `This clock and the server's are ${Math.round(apart / 1000)} s apart`,
        "keep both in time: chrony or systemd-timesyncd",
      ),
    );
  findings.push(await rights(client, parts, signal));
  return findings;
}

async function rights(client: KubeClient, parts: Parts, signal: AbortSignal): Promise<Finding> {
  const wanted = agentRights(parts).flatMap(each);
  let answers: boolean[];
  try {
    answers = await Promise.all(wanted.map((one) => isAllowed(client, one, signal)));
  } catch (error) {
    if (isKubeError(error, "NotFound")) return ok("rights", "This server knows no rights: whoever reaches it may do everything");
    if (!isKubeError(error)) throw error;
    return warn("rights", `What this identity may do cannot be found out: ${error.message}`, "ask with another identity: --kubeconfig");
  }
  const missing = wanted.filter((_, at) => !answers[at]);
  if (missing.length === 0) return ok("rights", `This identity may do all that an agent does (${wanted.length} rights)`);
  const shown = missing.slice(0, SHOWN).map(sentence).join("; ");
  const more = missing.length > SHOWN ? `; and ${missing.length - SHOWN} more` : "";
  return fail(
    "rights",
    `With this identity an agent would lack ${missing.length} of ${wanted.length} rights: ${shown}${more}`,
    "the chart has the rights of agents; or ask as the agent: --kubeconfig agent.kubeconfig",
  );
}

interface Asked {
  readonly namespace?: string;
  readonly group: string;
  readonly resource: string;
  readonly subresource?: string;
  readonly verb: string;
  readonly name?: string;
}

/** One question for each verb, resource and name. */
export function each({ namespace, group, resources, verbs, names }: Right): Asked[] {
  const questions: Asked[] = [];
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

async function isAllowed(client: KubeClient, resourceAttributes: Asked, signal: AbortSignal): Promise<boolean> {
  const body = { apiVersion: "authorization.k8s.io/v1", kind: "SelfSubjectAccessReview", spec: { resourceAttributes } };
  const { status } = await client.request<{ status?: { allowed?: boolean } }>("POST", REVIEWS, { signal, body, repeatable: true });
  return status?.allowed === true;
}

function sentence({ verb, resource, subresource, group, namespace }: Asked): string {
  const what = `${resource}${subresource === undefined ? "" : `/${subresource}`}${group === "" ? "" : `.${group}`}`;
  return `${verb} ${what}${namespace === undefined ? "" : ` in ${namespace}`}`;
}
