import { RouterNodeConfigurationStatus } from "../../api/openpe/router-node-configuration-status.ts";
import { Cache } from "../../kube/cache/cache.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import type { LiveView } from "../up/view.ts";
import { ROUTER_NAMESPACE } from "./api.ts";
import { conditionsText } from "./status.ts";

/** A line whenever a node's conditions turn, for a server whose objects we do not hold ourselves. */
export function statusView(client: KubeClient, head: readonly string[]): LiveView {
  const closed = new AbortController();
  for (const line of head) process.stdout.write(`${line}\n`);
  const known = new Map<string, string>();
  const statuses = new Cache(client, RouterNodeConfigurationStatus, { namespace: ROUTER_NAMESPACE });
  statuses.subscribe(({ object }) => {
    const text = conditionsText(object);
    if (known.get(object.metadata.name) === text) return;
    known.set(object.metadata.name, text);
    tell(`${object.metadata.name}: ${text}`);
  });
  statuses.start(closed.signal);
  return { tell, close: () => closed.abort() };
}

function tell(line: string): void {
  process.stdout.write(`${new Date().toLocaleTimeString("en-GB")} ${line}\n`);
}
