import type { AddressInfo } from "node:net";
import type { ConfigNamespaces } from "../../explain/explainers.ts";
import type { Manager } from "../../kube/controller/manager.ts";
import type { Log } from "../../kube/log.ts";
import { DashboardServer } from "../../web/server/dashboard-server.ts";
import { loopbackViewer } from "../../web/access/viewer.ts";
import { VERSION } from "../shared/version.ts";
import type { PageAddress } from "./page-address.ts";
import { pageCaches } from "./page-caches.ts";
import { pageFiles } from "./page-files.ts";

/** How many ports after the default are tried, in case another lab or page uses it. */
const OTHER_PORTS = 20;

/** The page on a loopback address. Resolves once it is served, or with the reason why not. */
export function addLocalPage(options: { manager: Manager; namespaces: ConfigNamespaces; address: PageAddress; log: Log }): Promise<string> {
  const { manager, namespaces, log } = options;
  const { chosen, ...address } = options.address;
  const page = new DashboardServer({
    caches: pageCaches(manager, namespaces),
    namespaces,
    authenticator: loopbackViewer,
    assets: pageFiles,
    version: VERSION,
    ...address,
    ...(!chosen && { otherPorts: OTHER_PORTS }),
    log,
  });
  // A page that fails, for example because its port is in use, must not end the lab.
  manager.add({ name: page.name, run: (signal) => page.run(signal).catch(() => undefined) });
  return page.address.then(
    (bound) => `The page: ${urlOf(bound)}`,
    (error: unknown) => `Web page not available: ${error instanceof Error ? error.message : String(error)}`,
  );
}

function urlOf({ address, family, port }: AddressInfo): string {
  return `http://${family === "IPv6" ? `[${address}]` : address}:${port}`;
}
