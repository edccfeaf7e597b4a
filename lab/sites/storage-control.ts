import { Agent, request } from "node:http";
import { json } from "node:stream/consumers";
import { join } from "node:path";
import { LabError } from "../error.ts";

/** Something that must not happen to the data, with what there was to see of it. */
export interface VolumeDamage {
  /**
   * SplitBrain: promoted while the other side was primary. TailLost: promoted before what was written last had arrived. DemotedInUse: demoted while
   * a pod had the volume or a node held it.
   */
  readonly kind: "SplitBrain" | "TailLost" | "DemotedInUse";
  readonly site: string;
  readonly volume: string;
  readonly detail: string;
}

export interface StoredVolume {
  readonly primaries: readonly string[];
  /** Where writes are that the other site was promoted without. */
  readonly diverged: readonly string[];
  /** The newest version that each site has. */
  readonly versions: Readonly<Record<string, number>>;
  /** The newest version whose write was confirmed to an application. */
  readonly acknowledged: number;
  /** Whether a snapshot is on its way to the other site. */
  readonly underway: boolean;
}

export type ReplicationCall = "EnableVolumeReplication" | "PromoteVolume" | "DemoteVolume" | "ResyncVolume" | "GetVolumeReplicationInfo";

/** Which calls a fault is about: those for one volume, or one of them, or all. */
export interface FaultyCalls {
  readonly site: string;
  readonly volume?: string;
  readonly rpc?: ReplicationCall;
}

export interface StorageFault {
  /** A gRPC status code that is answered instead of executing the call. */
  readonly code?: number;
  readonly message?: string;
  readonly delayMs?: number;
  /** The call takes effect, and the caller gets an error. */
  readonly losesAnswer?: boolean;
  /** No answer until the fault is gone. */
  readonly never?: boolean;
  /** For how many calls; default: all. */
  readonly times?: number;
}

/** Where the driver in this directory is controlled. */
export function controlSocket(directory: string): string {
  return join(directory, "storage.sock");
}

/** Sets what is wrong with the lab's storage, writes as an application does, and reads what became of the data. */
export class StorageControl {
  readonly #socketPath: string;
  readonly #agent = new Agent({ keepAlive: true });

  constructor(socketPath: string) {
    this.#socketPath = socketPath;
  }

  async setFault(calls: FaultyCalls, fault: StorageFault): Promise<void> {
    await this.#ask("POST", "/fault", { ...calls, ...fault });
  }

  /** Instead of all that the volume has at the site, at once: no call is carried out in between. */
  async replaceFaults(calls: FaultyCalls, fault: StorageFault): Promise<void> {
    await this.#ask("POST", "/fault", { ...calls, ...fault, replace: true });
  }

  /** Without an RPC those of all RPCs of the volume. */
  async removeFault(calls: FaultyCalls): Promise<void> {
    await this.#ask("POST", "/fault", { ...calls, remove: true });
  }

  /** Between the two sites' storage, for one volume or for all. */
  async setLink(link: "up" | "cut", volume?: string): Promise<void> {
    await this.#ask("POST", "/link", { cut: link === "cut", volume });
  }

  /** How long snapshots of the volume take to the other site from now on. */
  async setTransferTime(volume: string, ms: number): Promise<void> {
    await this.#ask("POST", "/transfer", { volume, ms });
  }

  /** What an application does. Returns the version that is acknowledged, or nothing where the volume is read-only. */
  async write(site: string, volume: string): Promise<number | undefined> {
    const { version } = (await this.#ask("POST", "/write", { site, volume }, [409])) as { version?: number };
    return version;
  }

  /** Whether a site has this version of a volume. */
  async holds(site: string, volume: string, version: number): Promise<boolean> {
    return (await this.#ask("POST", "/holds", { site, volume, version })) as boolean;
  }

  /** One of the controller's calls. `error` is its gRPC code. */
  async call(call: Required<FaultyCalls> & { readonly force?: boolean }): Promise<Record<string, unknown>> {
    const answer = (await this.#ask("POST", "/call", call, [409])) as Record<string, unknown> | null;
    return answer ?? {};
  }

  async volume(name: string): Promise<StoredVolume> {
    return (await this.#ask("GET", `/volume?name=${encodeURIComponent(name)}`)) as StoredVolume;
  }

  /** Where a volume can be written now. */
  async primaries(volume: string): Promise<readonly string[]> {
    return (await this.volume(volume)).primaries;
  }

  /** What went wrong so far, of all volumes or those of a namespace: for tests to find empty. */
  async damage(namespace?: string): Promise<VolumeDamage[]> {
    const all = (await this.#ask("GET", "/damage")) as VolumeDamage[];
    return namespace === undefined ? all : all.filter(({ volume }) => volume.startsWith(`${namespace}/`));
  }

  /** The addresses that each site's storage refuses to serve. */
  async fences(): Promise<Readonly<Record<string, readonly string[]>>> {
    return (await this.#ask("GET", "/fences")) as Record<string, string[]>;
  }

  /** The port of each site's gRPC endpoint. */
  async ports(): Promise<Readonly<Record<string, number>>> {
    return (await this.#ask("GET", "/ports")) as Record<string, number>;
  }

  close(): void {
    this.#agent.destroy();
  }

  async #ask(method: string, path: string, body?: object, allowed: readonly number[] = []): Promise<unknown> {
    const answered = Promise.withResolvers<unknown>();
    const headers = { "content-type": "application/json" };
    const asking = request({ socketPath: this.#socketPath, agent: this.#agent, method, path, headers }, (response) => {
      const { statusCode = 0 } = response;
      json(response).then((answer) => {
        if (statusCode === 200 || allowed.includes(statusCode)) answered.resolve(answer);
        else answered.reject(new LabError("NotStarted", `The storage refuses ${method} ${path}: ${JSON.stringify(answer)}`));
      }, answered.reject);
    });
    asking.on("error", answered.reject);
    asking.end(body && JSON.stringify(body));
    return await answered.promise;
  }
}
