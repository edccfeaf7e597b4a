import type { TestProject } from "vitest/node";
import { frr10 } from "../../lab/frr/frr10.ts";
import { gobgpBinaries } from "../../lab/gobgp/binaries.ts";
import { helmBinary } from "../../lab/helm/binary.ts";
import { onKernel } from "../../lab/kernel/select.ts";
import { kubeBinaries } from "../../lab/kube/binary.ts";
import { memoryDirectory, startEtcd } from "../../lab/kube/etcd.ts";
import { nodeAddressBinary } from "../../lab/node-address/binary.ts";
import { progressOn } from "../../lab/progress.ts";
import { csiAddonsController, replicationDriver } from "../../lab/sites/csi-addons/binaries.ts";
import { fluxBinaries } from "../../lab/sites/flux/binaries.ts";

declare module "vitest" {
  interface ProvidedContext {
    lab: { directory: string; etcd: string };
  }
}

/** One etcd for all suites; each suite has an API server of its own on it. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  // What is built once is built here, so that suites do not wait for each other.
  await onKernel({ features: ["vrf", "nftables"], progress: progressOn(process.stderr) }, (image) => Promise.resolve(image));
  const binaries = await kubeBinaries(progressOn(process.stderr));
  await helmBinary(progressOn(process.stderr));
  await nodeAddressBinary(progressOn(process.stderr));
  await replicationDriver(progressOn(process.stderr));
  await csiAddonsController("0.12", progressOn(process.stderr));
  await fluxBinaries(progressOn(process.stderr));
  await frr10(progressOn(process.stderr));
  await gobgpBinaries(progressOn(process.stderr));
  const directory = await memoryDirectory("test");
  const etcd = await startEtcd(binaries, directory.path);
  project.provide("lab", { directory: directory.path, etcd: etcd.url });
  return async () => {
    await etcd.child.kill();
    await directory.remove();
  };
}
