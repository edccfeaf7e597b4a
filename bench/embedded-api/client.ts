import { RouterNodeConfigurationStatus } from "../../src/api/openpe/router-node-configuration-status.ts";
import { fixedAccess } from "../../src/kube/testing/fixed-access.ts";
import { accessFromKubeconfig } from "../../src/kube/client/access.ts";
import { KubeClient } from "../../src/kube/client/client.ts";
import { reportOf } from "../status-writer/nodes.ts";

export interface Report {
  msPerGet: number;
  msPerStatusPatch: number;
}

const [where = "", namespace = "", name = "", count = ""] = process.argv.slice(2);
const requests = Number(count);
const access = where.startsWith("unix:") ? fixedAccess(where) : await accessFromKubeconfig({ path: where });
const objects = new KubeClient(access).resource(RouterNodeConfigurationStatus);
const { signal } = new AbortController();

/** The mean of many, one request after the other. */
async function msPer(request: (n: number) => Promise<unknown>): Promise<number> {
  // As many first, until Node has compiled what is run all the time.
  for (let n = 0; n < requests; n++) await request(n);
  const start = performance.now();
  for (let n = 0; n < requests; n++) await request(n);
  return (performance.now() - start) / requests;
}

let last: string | undefined;

/** Says the opposite of the patch before it: no server writes what changes nothing. */
async function patchStatus(n: number): Promise<void> {
  const report = reportOf(0, n % 2 === 0 ? "True" : "False");
  const conditions = report.conditions?.map((condition) => ({ ...condition, lastTransitionTime: "2026-01-01T00:00:00Z" }));
  const { metadata } = await objects.patchStatus({ name, namespace }, { status: { ...report, conditions } }, { signal });
  if (metadata.resourceVersion === last) throw new Error("a patch changed nothing");
  last = metadata.resourceVersion;
}

await patchStatus(1);
const msPerGet = await msPer(() => objects.get(name, { namespace, signal }));
const msPerStatusPatch = await msPer(patchStatus);
process.send?.({ msPerGet, msPerStatusPatch } satisfies Report);
