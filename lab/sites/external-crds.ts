import { execFile } from "node:child_process";
import { createHash, randomUUID } from "node:crypto";
import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { parseAllDocuments } from "yaml";
import { cacheDirectory } from "../../src/util/cache-directory.ts";
import type { CustomResourceDefinition } from "../../src/api/crds/crd.ts";
import { LabError } from "../error.ts";
import { findGo } from "../kube/go.ts";
import type { Progress } from "../progress.ts";

const SOURCES = import.meta.dirname;
const GO_ENV = { GOTOOLCHAIN: "local", GOWORK: "off", GOFLAGS: "" };

/** Where each project keeps its definitions in its Go module, and those that we want of them. */
const MODULES: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  // All of them: its controller waits for every kind that it watches.
  "github.com/csi-addons/kubernetes-csi-addons": {
    "config/crd/bases/csiaddons.openshift.io_csiaddonsnodes.yaml": ["CSIAddonsNode"],
    "config/crd/bases/csiaddons.openshift.io_encryptionkeyrotationcronjobs.yaml": ["EncryptionKeyRotationCronJob"],
    "config/crd/bases/csiaddons.openshift.io_encryptionkeyrotationjobs.yaml": ["EncryptionKeyRotationJob"],
    "config/crd/bases/csiaddons.openshift.io_networkfenceclasses.yaml": ["NetworkFenceClass"],
    "config/crd/bases/csiaddons.openshift.io_networkfences.yaml": ["NetworkFence"],
    "config/crd/bases/csiaddons.openshift.io_reclaimspacecronjobs.yaml": ["ReclaimSpaceCronJob"],
    "config/crd/bases/csiaddons.openshift.io_reclaimspacejobs.yaml": ["ReclaimSpaceJob"],
    "config/crd/bases/replication.storage.openshift.io_volumegroupreplicationclasses.yaml": ["VolumeGroupReplicationClass"],
    "config/crd/bases/replication.storage.openshift.io_volumegroupreplicationcontents.yaml": ["VolumeGroupReplicationContent"],
    "config/crd/bases/replication.storage.openshift.io_volumegroupreplications.yaml": ["VolumeGroupReplication"],
    "config/crd/bases/replication.storage.openshift.io_volumereplicationclasses.yaml": ["VolumeReplicationClass"],
    "config/crd/bases/replication.storage.openshift.io_volumereplications.yaml": ["VolumeReplication"],
  },
  "github.com/fluxcd/helm-controller": { "config/crd/bases/helm.toolkit.fluxcd.io_helmreleases.yaml": ["HelmRelease"] },
  "github.com/fluxcd/kustomize-controller": { "config/crd/bases/kustomize.toolkit.fluxcd.io_kustomizations.yaml": ["Kustomization"] },
  // kustomize-controller and helm-controller watch all of these.
  "github.com/fluxcd/source-controller": {
    "config/crd/bases/source.toolkit.fluxcd.io_buckets.yaml": ["Bucket"],
    "config/crd/bases/source.toolkit.fluxcd.io_gitrepositories.yaml": ["GitRepository"],
    "config/crd/bases/source.toolkit.fluxcd.io_helmcharts.yaml": ["HelmChart"],
    "config/crd/bases/source.toolkit.fluxcd.io_ocirepositories.yaml": ["OCIRepository"],
  },
  "github.com/kedacore/keda/v2": { "config/crd/bases/keda.sh_scaledobjects.yaml": ["ScaledObject"] },
  "istio.io/api": { "kubernetes/customresourcedefinitions.gen.yaml": ["VirtualService"] },
};

interface Download {
  readonly Path: string;
  readonly Dir?: string;
  readonly Error?: string;
}

/** The definitions of the kinds of other projects that a policy can name, as they publish them: cached, else out of their Go modules (20 MB, once). */
export async function externalCrds(progress: Progress): Promise<CustomResourceDefinition[]> {
  const cache = cacheDirectory();
  const file = join(cache, "external-crds", `${await sourceHash()}.json`);
  const cached = await readFile(file, "utf8").catch(() => undefined);
  if (cached !== undefined) return JSON.parse(cached) as CustomResourceDefinition[];

  progress.step("Fetching the custom resource definitions of csi-addons, Flux, Istio and KEDA");
  const crds = await publishedCrds(await findGo(cache, progress));
  const writing = `${file}.${randomUUID()}`;
  await mkdir(join(file, ".."), { recursive: true });
  try {
    await writeFile(writing, JSON.stringify(crds));
    await rename(writing, file);
  } finally {
    await rm(writing, { force: true });
  }
  return crds;
}

async function sourceHash(): Promise<string> {
  const hash = createHash("sha256");
  for (const name of ["go.mod", "go.sum"]) hash.update(await readFile(join(SOURCES, name)));
  hash.update(JSON.stringify(MODULES));
  return hash.digest("hex").slice(0, 16);
}

async function publishedCrds(go: string): Promise<CustomResourceDefinition[]> {
  const crds: CustomResourceDefinition[] = [];
  for (const { Path: path, Dir: directory, Error: error } of await download(go)) {
    if (directory === undefined)
      throw new LabError("NoBinaries", `The Go module ${path} is not available: ${error ?? "go gives no reason"}`);
    for (const [file, kinds] of Object.entries(MODULES[path] ?? {})) {
      const documents = parseAllDocuments(await readFile(join(directory, file), "utf8"));
      const found = documents.map((document) => document.toJS() as CustomResourceDefinition | null);
      for (const kind of kinds) {
        const crd = found.find((one) => one?.spec?.names.kind === kind);
        if (!crd) throw new LabError("NoBinaries", `The Go module ${path} has no ${kind} in ${file}`);
        crds.push(crd);
      }
    }
  }
  return crds;
}

/** What go.mod asks for, checked against go.sum; their dependencies are not asked for. */
async function download(go: string): Promise<Download[]> {
  const required = (await readFile(join(SOURCES, "go.mod"), "utf8")).matchAll(/^\t(\S+) (v\S+)$/gm);
  const modules = Array.from(required, ([, path = "", version = ""]) => `${path}@${version}`);
  const run = promisify(execFile)(go, ["mod", "download", "-json", ...modules], { cwd: SOURCES, env: { ...process.env, ...GO_ENV } });
  const { stdout } = await run.catch((failure: { stdout?: string; stderr?: string; message: string }) => {
    // With -json the reasons are in the output too.
    if (failure.stdout) return { stdout: failure.stdout };
    throw new LabError("NoBinaries", `go mod download failed: ${failure.stderr?.trim() || failure.message}`, failure);
  });
  return JSON.parse(`[${stdout.trim().replaceAll(/^}\n{/gm, "},{")}]`) as Download[];
}
