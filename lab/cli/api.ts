import { cp, mkdir, stat, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { type ControlPlane, startControlPlane } from "../kube/control-plane.ts";
import { accessAs, allowPeerSecret, installIdentities, kubeconfigOf } from "../kube/identities.ts";
import { installCrds } from "../kube/install-crds.ts";
import type { Progress } from "../progress.ts";
import { CUSTOM_KINDS } from "../../src/api/crds/kinds.ts";
import { type Embedded, startEmbedded } from "../../src/embedded/embedded.ts";
import { accessFromKubeconfig } from "../../src/kube/client/access.ts";
import { KubeClient } from "../../src/kube/client/client.ts";
import type { Log } from "../../src/kube/log.ts";
import { applyServerSide } from "../../src/cli/apply/apply-one.ts";
import { embeddedAccess } from "../../src/cli/shared/connection.ts";
import { readInputs } from "../../src/cli/manifests/input.ts";
import { resolveInputs } from "../../src/cli/manifests/resolve-inputs.ts";
import { discover } from "../../src/cli/resources/discovery.ts";

export const NAMESPACE = "plumbline-system";
export const ROUTER_NAMESPACE = "openperouter-system";
export const METALLB_NAMESPACE = "metallb-system";

/** The API of the lab, outside its machine and reached from everywhere inside. */
export interface LabApi {
  /** As an admin. */
  readonly client: KubeClient;
  /** As Plumbline's controller; the embedded API knows only its owner. */
  readonly controller: KubeClient;
  /** Works outside and inside alike. */
  readonly kubeconfig: string;
  /** The path of one with which the agent of this node speaks as what it is. */
  agentKubeconfig(node: string): Promise<string>;
  readonly url: string;
  /** Undefined where it is a real API server. */
  readonly embedded?: Embedded;
  /** The real one. */
  readonly plane?: ControlPlane;
  /** Where the embedded API's manifests are. */
  readonly manifests?: string;
  stop(): Promise<void>;
}

interface ApiOptions {
  /** The lab's own, which every host sees. */
  readonly directory: string;
  readonly address: string;
  /** Files, and directories with files. Copied, so that edits of the originals do not affect the lab. */
  readonly manifests: readonly string[];
  readonly log: Log;
  readonly progress: Progress;
  readonly signal: AbortSignal;
}

const PORT = 6443;

export async function startEmbeddedApi({ directory, address, manifests, log, progress }: ApiOptions): Promise<LabApi> {
  progress.step("Starting the embedded API");
  const served = join(directory, "manifests");
  await mkdir(served);
  for (const path of manifests) {
    const target = (await stat(path)).isDirectory() ? served : join(served, basename(path));
    await cp(path, target, { recursive: true });
  }
  const embedded = await startEmbedded({ directory: served, listen: `${address}:${PORT}`, log });
  const client = new KubeClient(embeddedAccess(served, embedded.socket));
  const { tcp } = embedded;
  if (!tcp) throw new TypeError("the embedded API listens where it was told to");
  return {
    client,
    controller: client,
    kubeconfig: tcp.kubeconfig,
    agentKubeconfig: () => Promise.resolve(tcp.kubeconfig),
    url: tcp.url,
    embedded,
    manifests: served,
    async stop() {
      client.close();
      await embedded.stop();
    },
  };
}

export async function startKubeApi({ directory, address, progress, signal }: Omit<ApiOptions, "manifests" | "log">): Promise<LabApi> {
  // The lab's kubelets do not report that they live.
  const plane = await startControlPlane({ kwok: false, nodeLifecycle: false, address, progress });
  const client = new KubeClient(await accessFromKubeconfig({ path: plane.kubeconfig }));
  try {
    progress.step("Installing Plumbline's kinds");
    await installCrds(client, CUSTOM_KINDS, signal);
    await installIdentities(client, signal);
    await allowPeerSecret(client, "default", signal);
    // The server's own directory is hidden from the lab's hosts.
    const kubeconfig = join(directory, "kubeconfig");
    await cp(plane.kubeconfig, kubeconfig);
    const controller = new KubeClient(accessAs("controller", client.access), { userAgent: "controller" });
    return {
      client,
      controller,
      kubeconfig,
      async agentKubeconfig(node) {
        const path = join(directory, `agent-${node}.kubeconfig`);
        await writeFile(path, await kubeconfigOf(accessAs({ agentOf: node }, client.access)), { mode: 0o600 });
        return path;
      },
      url: plane.server.url,
      plane,
      async stop() {
        client.close();
        controller.close();
        await plane.stop();
      },
    };
  } catch (error) {
    client.close();
    await plane.stop();
    throw error;
  }
}

/** To a real API server. */
export async function applyManifests(client: KubeClient, manifests: readonly string[], signal: AbortSignal): Promise<void> {
  if (manifests.length === 0) return;
  const inputs = await readInputs(manifests);
  const apply = applyServerSide(true);
  for (const { input, resource, namespace } of resolveInputs(inputs, await discover(client, signal), "default", undefined)) {
    const where = namespace === undefined ? {} : { namespace };
    await apply(client, resource, { ...input.object, metadata: { ...input.object.metadata, ...where } }, signal);
  }
}
