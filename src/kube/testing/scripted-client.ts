import { afterEach, vi } from "vitest";
import { fixedAccess } from "./fixed-access.ts";
import type { Credential } from "../client/access.ts";
import { KubeClient } from "../client/client.ts";
import { ScriptedServer, type ScriptedStep } from "./scripted-server.ts";
import type { ClientOptions } from "../client/transport.ts";

/** For tests: servers that answer by a script, and their clients. After each test they are gone. */
export function useScripted() {
  let clients: KubeClient[] = [];
  let servers: ScriptedServer[] = [];

  afterEach(async () => {
    vi.restoreAllMocks();
    vi.useRealTimers();
    for (const client of clients) client.close();
    for (const server of servers) await server[Symbol.asyncDispose]();
    clients = [];
    servers = [];
  });

  const scripted = async (...steps: ScriptedStep[]): Promise<ScriptedServer> => {
    const server = await ScriptedServer.start(steps);
    servers.push(server);
    return server;
  };

  const clientOf = (
    server: { url: string },
    options: ClientOptions = {},
    identity?: (rejected?: Credential) => Promise<Credential>,
  ): KubeClient => {
    const access = fixedAccess(server.url, {}, { describe: "context test" });
    const client = new KubeClient(identity ? { ...access, identity } : access, options);
    clients.push(client);
    return client;
  };
  return { scripted, clientOf };
}
