import { CoreV1Api, KubeConfig, makeInformer, type V1Service } from "@kubernetes/client-node";
import { Observer } from "./observer.ts";
import { TEAM } from "./services.ts";

const [path = "", round = "", services = ""] = process.argv.slice(2);
const config = new KubeConfig();
config.loadFromFile(path);
const core = config.makeApiClient(CoreV1Api);

const observer = new Observer(round, Number(services));
const informer = makeInformer<V1Service>(config, "/api/v1/services", () => core.listServiceForAllNamespaces());

// The informer itself knows only namespaces; an index by label is its user's to keep.
const byTeam = new Map<string, Map<string, V1Service>>();
const teams = new Map<string, string>();
const index = (service: V1Service) => {
  const key = `${service.metadata?.namespace}/${service.metadata?.name}`;
  const team = service.metadata?.labels?.[TEAM] ?? "";
  const old = teams.get(key);
  if (old !== undefined && old !== team) byTeam.get(old)?.delete(key);
  teams.set(key, team);
  const members = byTeam.get(team) ?? new Map<string, V1Service>();
  byTeam.set(team, members.set(key, service));
};
informer.on("add", (service) => {
  index(service);
  observer.added(service);
});
informer.on("update", (service) => {
  index(service);
  observer.changed(service);
});
informer.on("error", (error) => {
  throw error;
});
await informer.start();
await observer.report((team) => byTeam.get(team)?.values() ?? []);
