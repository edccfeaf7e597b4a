import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { json } from "node:stream/consumers";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Child } from "../child.ts";
import { LabError } from "../error.ts";
import { memoryDirectory } from "../kube/etcd.ts";
import type { Progress } from "../progress.ts";
import { replicationDriver } from "./csi-addons/binaries.ts";
import { DRIVER } from "./external-attacher.ts";
import { controlSocket, StorageControl } from "./storage-control.ts";

const READY_WITHIN_MS = 30_000;

export interface StorageOptions {
  progress: Progress;
  /** One or two. */
  sites: readonly string[];
  /** The directory of its sockets and log; default: a new one. */
  directory?: string;
  /** How long a snapshot takes to the other site. */
  transferMs?: number;
  /** Between two snapshots. */
  intervalMs?: number;
}

/** The users of a volume of a site, as text. Empty if there are none. */
export type Inspection = (volume: string) => Promise<string>;

/**
 * The storage of one or two sites, which mirrors each volume between them: a process with a gRPC endpoint for each site's csi-addons, its source in
 * lab/sites/csi-addons. It holds versions of data, takes the time that it is told to, and records what must not happen to data.
 */
export class ReplicatedStorage extends StorageControl {
  readonly #inspections: Map<string, Inspection>;
  readonly #ending: AsyncDisposableStack;

  private constructor(socket: string, inspections: Map<string, Inspection>, ending: AsyncDisposableStack) {
    super(socket);
    this.#inspections = inspections;
    this.#ending = ending;
  }

  static async start({ progress, sites, directory, transferMs = 50, intervalMs = 1_000 }: StorageOptions): Promise<ReplicatedStorage> {
    const driver = await replicationDriver(progress);
    const ending = new AsyncDisposableStack();
    try {
      const memory = directory === undefined ? await memoryDirectory("storage") : undefined;
      if (memory) ending.defer(() => memory.remove());
      const at = directory ?? memory?.path ?? "";
      const inspections = new Map<string, Inspection>();
      const inspector = join(at, "inspector.sock");
      ending.use(await serveInspections(inspector, inspections));
      const socket = controlSocket(at);
      const args = [
        `--driver=${DRIVER}`,
        `--sites=${sites.join(",")}`,
        `--control=${socket}`,
        `--inspector=${inspector}`,
        `--interval=${intervalMs}ms`,
        `--transfer=${transferMs}ms`,
      ];
      const child = new Child("storage", driver, args, { logFile: join(at, "storage.log") });
      ending.defer(() => child.kill());
      for (const deadline = performance.now() + READY_WITHIN_MS; !existsSync(socket); await sleep(20)) {
        if (!child.running || performance.now() > deadline)
          throw new LabError("NotStarted", `The storage is not ready after ${READY_WITHIN_MS / 1000} s:\n${child.logTail()}`);
      }
      return new ReplicatedStorage(socket, inspections, ending);
    } catch (error) {
      await ending.disposeAsync();
      throw error;
    }
  }

  /** From now on each demotion at the site asks first who uses the volume, and records it as damage. */
  inspect(site: string, inspection: Inspection): void {
    this.#inspections.set(site, inspection);
  }

  async stop(): Promise<void> {
    this.close();
    await this.#ending.disposeAsync();
  }
}

async function serveInspections(socket: string, inspections: ReadonlyMap<string, Inspection>): Promise<AsyncDisposable> {
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const { site, volume } = (await json(request)) as { site: string; volume: string };
    // A cluster that ends can no longer be asked.
    const users = await (inspections.get(site)?.(volume) ?? Promise.resolve("")).catch(() => "");
    response.end(JSON.stringify({ users }));
  };
  const server = createServer((request, response) => void answer(request, response).catch(() => response.destroy()));
  server.listen(socket);
  await once(server, "listening");
  return {
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      const closed = once(server, "close");
      server.close();
      await closed;
    },
  };
}
