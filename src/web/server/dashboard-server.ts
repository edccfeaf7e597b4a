import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { getRequestListener } from "@hono/node-server";
import type { KubeObject } from "../../api/kind.ts";
import { CauseGraph } from "../../explain/graph.ts";
import { explainersOf, type ConfigNamespaces } from "../../explain/explainers.ts";
import type { Cache } from "../../kube/cache/cache.ts";
import type { Runnable } from "../../kube/controller/controller.ts";
import { aborted } from "../../util/deadline.ts";
import type { Log } from "../../kube/log.ts";
import { limitConnections, listen, secureContext, TIMERS } from "../../kube/serving.ts";
import type { CertificatePair } from "../../kube/x509.ts";
import { DashboardModel } from "../model/model.ts";
import { RefreshTimer } from "../model/refresh-timer.ts";
import { Timeline } from "../model/timeline.ts";
import { CacheFeed } from "../model/cache-feed.ts";
import type { Authenticator } from "../access/viewer.ts";
import { dashboardApp } from "./app.ts";
import { readAssets } from "./assets.ts";
import type { AnyRowBuilder } from "../rows/row-builder.ts";
import { commonCausesRow, checks } from "../rows/connectivity.ts";
import { policies } from "../rows/failover.ts";
import { pools, services, sessions } from "../rows/loadbalancer.ts";
import { domains, nodes } from "../rows/overview.ts";
import { routers } from "../rows/router.ts";
import { topology } from "../rows/topology.ts";
import { refsOfComponents } from "../access/refs.ts";

export interface PageOptions {
  /** One per kind of the cause graph. */
  readonly caches: readonly Cache<KubeObject>[];
  readonly namespaces: ConfigNamespaces;
  readonly authenticator: Authenticator;
  readonly assets: () => Promise<string>;
  readonly version: string;
  /** All addresses if unset. */
  readonly host?: string;
  readonly port: number;
  /** The number of further ports to try if the port is in use. */
  readonly otherPorts?: number;
  /** Plain HTTP if unset. */
  readonly certificates?: { subscribe(listener: (serving: CertificatePair) => void): () => void };
  readonly log: Log;
}

const MAX_CONNECTIONS = 512;

/** Serves the page on HTTP or HTTPS, read-only. */
export class DashboardServer implements Runnable {
  readonly name = "page";
  readonly #options: PageOptions;
  readonly #listening = Promise.withResolvers<AddressInfo>();

  constructor(options: PageOptions) {
    this.#options = options;
    // A failure is reported to callers of `address`; otherwise `run` throws it.
    this.#listening.promise.catch(() => undefined);
  }

  get address(): Promise<AddressInfo> {
    return this.#listening.promise;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { caches, namespaces, authenticator, version, log } = this.#options;
    const ended = aborted(signal);
    const model = dashboardModel(namespaces);
    new CacheFeed(model, caches).begin(signal);
    const timer = new RefreshTimer(model, log);
    try {
      const assets = await readAssets(await this.#options.assets());
      const app = dashboardApp({ model, timer, namespaces, authenticator, assets, version, log, signal });
      const server = await this.#server(getRequestListener(app.fetch, { overrideGlobalObjects: false }), ended);
      if (!server) return;
      limitConnections(server, { name: "page", log, maxConnections: MAX_CONNECTIONS });
      this.#listening.resolve(await this.#listen(server));
      log.info({ address: await this.address }, "page listens");
      await ended;
      await close(server);
    } catch (error) {
      this.#listening.reject(error);
      throw error;
    } finally {
      timer.stop();
    }
  }

  async #server(listener: ReturnType<typeof getRequestListener>, ended: Promise<unknown>): Promise<Server | undefined> {
    const { certificates, log } = this.#options;
    const answer = (...[request, response]: Parameters<typeof listener>) => void listener(request, response);
    if (!certificates) return process.getBuiltinModule("node:http").createServer(TIMERS, answer);
    const first = Promise.withResolvers<CertificatePair>();
    let server: ReturnType<typeof create> | undefined;
    const create = (serving: CertificatePair) =>
      process.getBuiltinModule("node:https").createServer({ ...TIMERS, ...secureContext(serving) }, answer);
    const unsubscribe = certificates.subscribe((serving) => {
      first.resolve(serving);
      server?.setSecureContext(secureContext(serving));
    });
    void ended.then(unsubscribe);
    const serving = await Promise.race([first.promise, ended.then(() => undefined)]);
    if (!serving) return undefined;
    server = create(serving);
    server.on("tlsClientError", (error) => log.debug({ error }, "page handshake failed"));
    return server;
  }

  async #listen(server: Server): Promise<AddressInfo> {
    const { host, port, otherPorts = 0 } = this.#options;
    for (let tried = 0; ; tried += 1) {
      try {
        return await listen(server, { port: port === 0 ? 0 : port + tried, ...(host !== undefined && { host }) });
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "EADDRINUSE" || tried >= otherPorts) throw error;
      }
    }
  }
}

/** Streams end with the signal; other requests take moments. */
async function close(server: Server): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  const hurry = setTimeout(() => server.closeAllConnections(), 1_000);
  await closed;
  clearTimeout(hurry);
}

export function dashboardModel(namespaces: ConfigNamespaces): DashboardModel {
  const timeline = new Timeline(refsOfComponents(namespaces));
  return new DashboardModel(new CauseGraph(explainersOf(namespaces)), rowBuilders(namespaces), timeline);
}

/** All row builders, without the causes and the timeline. */
function rowBuilders(namespaces: ConfigNamespaces): readonly AnyRowBuilder[] {
  return [nodes, domains(namespaces), ...topology, routers, pools, services, sessions, policies, checks, commonCausesRow];
}
