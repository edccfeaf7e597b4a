import { Service } from "../../src/api/core/service.ts";
import { Cache } from "../../src/kube/cache/cache.ts";
import { accessFromKubeconfig } from "../../src/kube/client/access.ts";
import { KubeClient } from "../../src/kube/client/client.ts";
import { Observer } from "./observer.ts";
import { TEAM } from "./services.ts";

const [path = "", round = "", services = ""] = process.argv.slice(2);
const client = new KubeClient(await accessFromKubeconfig({ path }));

const observer = new Observer(round, Number(services));
const cache = new Cache(client, Service, {
  indexes: {
    namespace: ({ metadata }) => [metadata.namespace ?? ""],
    team: ({ metadata }) => [metadata.labels?.[TEAM] ?? ""],
  },
});
cache.subscribe((change) => {
  if (change.type === "added") observer.added(change.object);
  if (change.type === "updated") observer.changed(change.object);
});
cache.start(new AbortController().signal);
await observer.report((team) => cache.by("team", team));
