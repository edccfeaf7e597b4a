import type { Kind } from "../../api/kind.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { isKubeError } from "../../kube/client/error.ts";
import {
  Application,
  ApplicationSet,
  CSIDriver,
  type ExternalKind,
  HelmRelease,
  Kustomization,
  NetworkFence,
  ScaledObject,
  VirtualService,
  VolumeGroupReplication,
  VolumeReplication,
  VolumeReplicationClass,
} from "./external-kinds.ts";
import type { ReadResult } from "./observed.ts";

const EXTERNAL = {
  VolumeGroupReplication,
  VolumeReplication,
  VolumeReplicationClass,
  VirtualService,
  HelmRelease,
  Kustomization,
  Application,
  ApplicationSet,
  CSIDriver,
  ScaledObject,
  NetworkFence,
} as const satisfies Record<string, ExternalKind>;
export type ExternalName = keyof typeof EXTERNAL;

interface Answer {
  readonly result: ReadResult<Kind>;
  readonly at: number;
}

/** How long a missing kind, or a failed discovery, is cached. */
const ABSENT_MS = 30_000;
const FAILED_MS = 5_000;

export function isExternal(kind: string): kind is ExternalName {
  return kind in EXTERNAL;
}

/** Kinds of other projects that the cluster serves, with their versions. A served kind is cached until a read fails. */
export class ServedKinds {
  readonly #client: KubeClient;
  readonly #absentMs: number;
  readonly #answers = new Map<ExternalName, Answer>();
  readonly #asking = new Map<ExternalName, Promise<void>>();
  #changes = 0;

  constructor(client: KubeClient, absentMs = ABSENT_MS) {
    this.#client = client;
    this.#absentMs = absentMs;
  }

  /** Increments with every answer. */
  get changes(): number {
    return this.#changes;
  }

  knows(kind: ExternalName): boolean {
    return this.#answers.has(kind);
  }

  /** Asks about kinds that are unknown or outdated. */
  async ask(kinds: Iterable<ExternalName>, signal: AbortSignal): Promise<void> {
    const open = [...new Set(kinds)].filter((kind) => this.#isDue(kind));
    await Promise.all(open.map((kind) => this.#askOnce(kind, signal)));
  }

  /** Callers that need the same answer share one request. */
  async #askOnce(kind: ExternalName, signal: AbortSignal): Promise<void> {
    const underway = this.#asking.get(kind);
    // The other caller may have been aborted.
    if (underway && (await isAnswered(underway))) return;
    const asking = this.#find(EXTERNAL[kind], signal).then((result) => {
      this.#answers.set(kind, { result, at: performance.now() });
      this.#changes += 1;
    });
    this.#asking.set(kind, asking);
    try {
      await asking;
    } finally {
      if (this.#asking.get(kind) === asking) this.#asking.delete(kind);
    }
  }

  #isDue(kind: ExternalName): boolean {
    const answer = this.#answers.get(kind);
    if (!answer) return true;
    if ("found" in answer.result) return false;
    return performance.now() - answer.at >= ("absent" in answer.result ? this.#absentMs : FAILED_MS);
  }

  lookup(kind: ExternalName): ReadResult<Kind> {
    return (
      this.#answers.get(kind)?.result ?? {
        error: `Not known yet whether the cluster serves ${EXTERNAL[kind].plural}`,
        code: "Unreachable",
      }
    );
  }

  /** Called if a read says that the cluster does not serve the kind in this version. */
  doubt(kind: ExternalName): void {
    this.#answers.delete(kind);
    this.#changes += 1;
  }

  async #find({ versions, ...kind }: ExternalKind, signal: AbortSignal): Promise<ReadResult<Kind>> {
    try {
      const served = await this.#client.request<ApiGroup>("GET", `/apis/${kind.group}`, { signal });
      const names = new Set(served.versions.map(({ version }) => version));
      for (const version of versions.filter((one) => names.has(one))) {
        const { resources } = await this.#client.request<ApiResources>("GET", `/apis/${kind.group}/${version}`, { signal });
        if (resources.some(({ name }) => name === kind.plural)) return { found: { ...kind, version } };
      }
      return { absent: "kind" };
    } catch (error) {
      if (isKubeError(error, "NotFound")) return { absent: "kind" };
      return readError(error, signal);
    }
  }
}

async function isAnswered(asking: Promise<void>): Promise<boolean> {
  try {
    await asking;
    return true;
  } catch {
    return false;
  }
}

interface ApiGroup {
  versions: { version: string }[];
}

interface ApiResources {
  resources: { name: string }[];
}

export function readError(error: unknown, signal: AbortSignal): ReadResult<never> {
  if (signal.aborted || !isKubeError(error)) throw error;
  if (error.code === "Forbidden" || error.code === "Unauthorized") return { error: error.message, code: "Forbidden" };
  const isAway = isKubeError(error, "Unreachable", "Timeout", "TooManyRequests", "ServerError", "Certificate");
  return { error: error.message, code: isAway ? "Unreachable" : "Failed" };
}
