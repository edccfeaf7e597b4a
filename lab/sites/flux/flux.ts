import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type Condition, type Kind, type KubeObject, parseKey } from "../../../src/api/kind.ts";
import type { KubeClient } from "../../../src/kube/client/client.ts";
import { Child } from "../../child.ts";
import { LabError } from "../../error.ts";
import type { ApiServer } from "../../kube/api-server.ts";
import type { Progress } from "../../progress.ts";
import { ArtifactServer, chartArchive, repositoryArchive } from "./artifacts.ts";
import { fluxBinaries } from "./binaries.ts";

const STARTS_WITHIN_MS = 300_000;

const FLAGS = [
  "--metrics-addr=0",
  "--health-addr=0",
  "--watch-all-namespaces",
  // One that has written a HelmRelease sleeps for a second if its cache is behind.
  "--concurrent=16",
  "--kube-api-qps=500",
  "--kube-api-burst=1000",
  // 30 s and 750 ms otherwise; a new object is put off by the latter, once it has its finalizer.
  "--requeue-dependency=1s",
  "--min-retry-delay=50ms",
];

interface Source extends KubeObject {
  spec: { interval: string; url: string };
  status?: { artifact?: object; observedGeneration?: number; conditions?: Condition[] };
}

const sourceKind = (kind: string, plural: string): Kind<Source> => ({
  group: "source.toolkit.fluxcd.io",
  version: "v1",
  kind,
  plural,
  scope: "Namespaced",
});

const SOURCES = {
  Kustomization: { kind: sourceKind("GitRepository", "gitrepositories"), url: "https://git.example.org/lab", pack: repositoryArchive },
  HelmRelease: { kind: sourceKind("OCIRepository", "ocirepositories"), url: "oci://charts.example.org/lab", pack: chartArchive },
} as const;

interface FluxOptions {
  readonly client: KubeClient;
  readonly server: ApiServer;
  readonly progress: Progress;
}

/**
 * The kustomize-controller and the helm-controller of a site, started when something is declared for the first time. In the place of source-controller
 * it serves archives, and says of each source that it was fetched.
 */
export class Flux {
  readonly #options: FluxOptions;
  readonly #artifacts = new ArtifactServer();
  readonly #controllers: Child[] = [];
  #started: Promise<void> | undefined;

  constructor(options: FluxOptions) {
    this.#options = options;
  }

  /**
   * What the Git repository or the chart of this object has in it from now on. The GitRepository of a Kustomization and the OCIRepository of a
   * HelmRelease have its name.
   */
  async declare(kind: keyof typeof SOURCES, key: string, objects: readonly KubeObject[]): Promise<void> {
    await (this.#started ??= this.#start());
    for (const child of this.#controllers) if (!child.running) throw new LabError("NotStarted", `${child.name} ended:\n${child.logTail()}`);
    const { name, namespace = "" } = parseKey(key);
    const source = SOURCES[kind];
    const artifact = this.#artifacts.add(`${source.kind.plural}/${key}`, source.pack(objects, name));
    const resource = this.#options.client.resource(source.kind);
    const options = { fieldManager: "source-controller", force: true, signal: new AbortController().signal };
    const { metadata } = await resource.apply({ metadata: { name, namespace }, spec: { interval: "10m", url: source.url } }, options);
    const ready: Condition = {
      type: "Ready",
      status: "True",
      reason: "Succeeded",
      message: `stored artifact for revision '${artifact.revision}'`,
      lastTransitionTime: artifact.lastUpdateTime,
      observedGeneration: metadata.generation ?? 1,
    };
    const status = { artifact, observedGeneration: metadata.generation ?? 1, conditions: [ready] };
    await resource.patchStatus({ name, namespace }, { status }, options);
  }

  async #start(): Promise<void> {
    const { server, progress } = this.#options;
    const binaries = await fluxBinaries(progress);
    await this.#artifacts.start();
    const env = { KUBECONFIG: await server.kubeconfig("admin"), TMPDIR: server.directory, GOGC: "400" };
    for (const [name, path] of Object.entries(binaries)) {
      this.#controllers.push(new Child(name, path, FLAGS, { logFile: join(server.directory, `${name}.log`), env }));
    }
    await Promise.all(this.#controllers.map(working));
  }

  async stop(): Promise<void> {
    await this.#started?.catch(() => undefined);
    await Promise.all(this.#controllers.map((child) => child.kill()));
    await this.#artifacts.stop();
  }
}

async function working(child: Child): Promise<void> {
  const deadline = performance.now() + STARTS_WITHIN_MS;
  while (!child.logTail(100).includes("Starting workers")) {
    if (!child.running || performance.now() > deadline)
      throw new LabError("NotStarted", `${child.name} did not start:\n${child.logTail()}`);
    await sleep(50);
  }
}
