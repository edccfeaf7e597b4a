import type { TestProject } from "vitest/node";
import { helmBinary } from "../../lab/helm/binary.ts";
import { kubeBinaries } from "../../lab/kube/binary.ts";
import { memoryDirectory, startEtcd } from "../../lab/kube/etcd.ts";
import { progressOn } from "../../lab/progress.ts";

declare module "vitest" {
  interface ProvidedContext {
    lab: { directory: string; etcd: string };
  }
}

/** One etcd for all suites; each suite has an API server of its own on it. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const binaries = await kubeBinaries(progressOn(process.stderr));
  // Here, so that suites do not build it side by side.
  await helmBinary(progressOn(process.stderr));
  const directory = await memoryDirectory("test");
  const etcd = await startEtcd(binaries, directory.path);
  project.provide("lab", { directory: directory.path, etcd: etcd.url });
  return async () => {
    await etcd.child.kill();
    await directory.remove();
  };
}
