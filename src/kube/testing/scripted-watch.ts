/** The API server of one kind, for tests of the cache: what a watch says, when it breaks and what a list holds is up to the test. */

import type { ServerResponse } from "node:http";
import type { ConfigMap } from "../../api/core/config-map.ts";
import { answer, type ReceivedRequest, ScriptedServer, type ScriptedStep } from "./scripted-server.ts";

export function map(name: string, resourceVersion: number, data: Record<string, string> = {}, uid = `uid-${name}`): ConfigMap {
  return {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name, namespace: "shop", uid, resourceVersion: String(resourceVersion) },
    data,
  };
}

/** One watch, as the server sees it. */
export class ScriptedWatch {
  readonly received: ReceivedRequest;
  readonly #response: ServerResponse;

  constructor(response: ServerResponse, received: ReceivedRequest) {
    this.#response = response;
    this.received = received;
    response.flushHeaders();
  }

  added(...objects: ConfigMap[]): this {
    return this.#say("ADDED", ...objects);
  }

  modified(...objects: ConfigMap[]): this {
    return this.#say("MODIFIED", ...objects);
  }

  deleted(...objects: ConfigMap[]): this {
    return this.#say("DELETED", ...objects);
  }

  bookmark(resourceVersion: number): this {
    return this.#say("BOOKMARK", { metadata: { resourceVersion: String(resourceVersion) } });
  }

  initialEventsEnd(resourceVersion: number): this {
    const annotations = { "k8s.io/initial-events-end": "true" };
    return this.#say("BOOKMARK", { metadata: { resourceVersion: String(resourceVersion), annotations } });
  }

  error(code: number, reason: string): this {
    return this.#say("ERROR", { kind: "Status", code, reason, message: reason });
  }

  /** An event that stops in the middle of its line. */
  half(object: ConfigMap): this {
    const line = JSON.stringify({ type: "ADDED", object });
    this.#response.write(line.slice(0, line.length / 2));
    return this;
  }

  /** The server ends it in good order. */
  end(): void {
    this.#response.end();
  }

  reset(): void {
    this.#response.socket?.resetAndDestroy();
  }

  #say(type: string, ...objects: object[]): this {
    for (const object of objects) this.#response.write(`${JSON.stringify({ type, object })}\n`);
    return this;
  }
}

export class WatchedServer {
  readonly watches: ScriptedWatch[] = [];
  /** Answers lists; by default there is nothing. */
  onList: ScriptedStep = listOf(1);
  /** Refuses watches while set. */
  rejectWatch: ((received: ReceivedRequest) => ScriptedStep | undefined) | undefined;
  readonly server: ScriptedServer;

  private constructor(server: ScriptedServer) {
    this.server = server;
  }

  static async start(): Promise<WatchedServer> {
    const watched: WatchedServer = new WatchedServer(
      await ScriptedServer.start([
        (response, received) => {
          if (received.query.get("watch") !== "true") return watched.onList(response, received);
          const rejection = watched.rejectWatch?.(received);
          if (rejection) return rejection(response, received);
          return watched.watches.push(new ScriptedWatch(response, received));
        },
      ]),
    );
    return watched;
  }

  /** The newest watch. */
  get watch(): ScriptedWatch {
    const newest = this.watches.at(-1);
    if (!newest) throw new Error("there is no watch yet");
    return newest;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server[Symbol.asyncDispose]();
  }
}

export function listOf(resourceVersion: number, ...items: ConfigMap[]): ScriptedStep {
  return answer(200, { metadata: { resourceVersion: String(resourceVersion) }, items });
}

/** A page with more to follow. */
export function pageOf(resourceVersion: number, ...items: ConfigMap[]): ScriptedStep {
  return answer(200, { metadata: { resourceVersion: String(resourceVersion), continue: "more" }, items });
}
