import { ConfigurationState } from "../../src/api/metallb/configuration-state.ts";
import { RouterNodeConfigurationStatus } from "../../src/api/openpe/router-node-configuration-status.ts";
import { Cache } from "../../src/kube/cache/cache.ts";
import type { KubeClient } from "../../src/kube/client/client.ts";
import type { LiveView } from "../../src/cli/live-view/view.ts";
import { METALLB_NAMESPACE, ROUTER_NAMESPACE } from "./api.ts";
import { conditionsText } from "./status.ts";

/** A line whenever a node's conditions turn, for a server whose objects we do not hold ourselves. */
export function statusView(client: KubeClient, head: readonly string[]): LiveView {
  const closed = new AbortController();
  for (const line of head) process.stdout.write(`${line}\n`);
  const known = new Map<string, string>();
  const news = (name: string, text: string) => {
    if (known.get(name) === text) return;
    known.set(name, text);
    tell(`${name}: ${text}`);
  };
  const routers = new Cache(client, RouterNodeConfigurationStatus, { namespace: ROUTER_NAMESPACE });
  routers.subscribe(({ object }) => news(object.metadata.name, conditionsText(object)));
  const states = new Cache(client, ConfigurationState, { namespace: METALLB_NAMESPACE });
  states.subscribe(({ object: { metadata, status } }) =>
    news(metadata.name, `configuration ${status?.result ?? "not seen yet"}${status?.lastError ? `: ${status.lastError}` : ""}`),
  );
  for (const cache of [routers, states]) cache.start(closed.signal);
  return { tell, close: () => closed.abort() };
}

function tell(line: string): void {
  process.stdout.write(`${new Date().toLocaleTimeString("en-GB")} ${line}\n`);
}
