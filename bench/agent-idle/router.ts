import { join } from "node:path";
import { cp, mkdir, writeFile } from "node:fs/promises";
import { LAB_MANIFESTS } from "../../src/cli/lab/router-lab.ts";

/** Of each kind: an L3VNI and an L2VNI with a gateway in every VRF. */
export const VRFS = 50;

/** The lab's Underlay and a hundred VNIs, as manifests in a directory. */
export async function writeManifests(directory: string): Promise<void> {
  await mkdir(directory);
  await cp(join(LAB_MANIFESTS, "underlay.yaml"), join(directory, "underlay.yaml"));
  const objects = Array.from({ length: VRFS }, (_, n) => [l3vni(n + 1), l2vni(n + 1)]).flat();
  await writeFile(join(directory, "vnis.yaml"), objects.map((object) => JSON.stringify(object)).join("\n---\n"));
}

function l3vni(n: number): object {
  return object("L3VNI", `routed-${n}`, { vrf: `red${n}`, vni: 1_000 + n });
}

function l2vni(n: number): object {
  const hostmaster = { type: "linux-bridge", linuxBridge: { autoCreate: true } };
  return object("L2VNI", `bridged-${n}`, { vrf: `red${n}`, vni: 2_000 + n, hostmaster, l2gatewayips: [`10.${n}.0.1/24`] });
}

function object(kind: string, name: string, spec: object): object {
  return { apiVersion: "openpe.openperouter.github.io/v1alpha1", kind, metadata: { name, namespace: "openperouter-system" }, spec };
}
