import { ConfigurationState } from "../../api/metallb/configuration-state.ts";
import { ConfigurationStatus } from "../../api/metallb/configuration-status.ts";
import type { KubeObject } from "../../api/kind.ts";
import type { Cache } from "../../kube/cache/cache.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { controller } from "../../kube/controller/controller.ts";
import type { Manager } from "../../kube/controller/manager.ts";
import { changesOf, type Source } from "../../kube/controller/source.ts";
import type { Log } from "../../kube/log.ts";
import { configLoaded, configStale } from "../metrics.ts";
import type { WriteBudget } from "../../kube/status/budget.ts";
import { StatusWriter } from "../../kube/status/status-writer.ts";
import type { ControllerConfiguration } from "./controller-configuration.ts";
import { configChangesOf } from "../config/changes.ts";
import type { Loaded } from "../config/load.ts";
import { configurationState, configurationStateName } from "../status/configuration-state.ts";
import { configurationStatus, configurationStatusName } from "../status/configuration-status.ts";
import { LoadRateLimit } from "../status/load-pace.ts";
import { UnreadableKinds } from "../../kube/controller/unreadable-kinds.ts";

export interface ConfigurationReportsOptions {
  manager: Manager;
  client: KubeClient;
  budget: WriteBudget;
  log: Log;
  namespace: string;
  /** The caches of the configuration. */
  sources: readonly Pick<Cache<KubeObject>, "kind" | "subscribe" | "waitForSync" | "onConnection">[];
  configuration: ControllerConfiguration;
  onLoaded: (loaded: Loaded) => void;
  states: Cache<ConfigurationState>;
}

const CONFIGURATION = "configuration";
const component = { type: "controller" } as const;
/** Retry interval while the watches lag behind the server. */
const UNSEEN_MS = 1_000;

/** The status exists even without configuration. */
const atStart: Source = {
  subscribe(enqueue) {
    enqueue(CONFIGURATION);
    return () => undefined;
  },
};

/** Loads the controller's part of the configuration when it changes, and writes ConfigurationState `controller` and ConfigurationStatus. */
export function addConfigurationReports(options: ConfigurationReportsOptions): void {
  const { manager, client, budget, log, namespace, sources, configuration, onLoaded, states } = options;
  const writing = { client, budget, log };
  const stateWriter = new StatusWriter({ ...writing, cache: states, kind: ConfigurationState });
  const own = `${namespace}/${configurationStateName(component)}`;
  const lost = new UnreadableKinds(sources, CONFIGURATION);
  const pace = new LoadRateLimit();

  const loading = controller(CONFIGURATION, {
    watches: [atStart, ...sources.map((source) => configChangesOf(source, CONFIGURATION)), lost],
    log,
    async reconcile(_key, { signal }) {
      if (!states.get(own)) stateWriter.set(own, configurationState(component));
      if (pace.waitMs > 0) return { requeueAfter: pace.waitMs };
      const isCaughtUp = await configuration.isCaughtUp(signal);
      const loaded = pace.run(() => configuration.load());
      const readProblem = lost.impairment();
      stateWriter.set(own, configurationState(component, loaded, readProblem));
      configLoaded.set(1);
      configStale.set(loaded.failures.length > 0 || readProblem ? 1 : 0);
      onLoaded(loaded);
      return isCaughtUp ? undefined : { requeueAfter: UNSEEN_MS };
    },
  });

  const aggregate = `${namespace}/${configurationStatusName}`;
  const cache = manager.cache(ConfigurationStatus, { namespace, fieldSelector: `metadata.name=${configurationStatusName}` });
  const aggregateWriter = new StatusWriter({ ...writing, cache, kind: ConfigurationStatus });
  const aggregating = controller("configuration-status", {
    watches: [changesOf(states, () => [aggregate])],
    log,
    reconcile() {
      aggregateWriter.set(aggregate, configurationStatus(states.list()));
      return Promise.resolve();
    },
  });

  manager.add(loading, { leaderOnly: true });
  manager.add(aggregating, { leaderOnly: true });
  for (const writer of [stateWriter, aggregateWriter]) manager.add(writer, { phase: "writers", leaderOnly: true });
}
