import { randomBytes } from "node:crypto";
import { kubeBinaries } from "../../lab/kube/binary.ts";
import { installIdentities } from "../../lab/kube/identities.ts";
import { silent } from "../../lab/progress.ts";
import { createApplication, MANAGED, readApplication, type ReadObject } from "../../lab/sites/application.ts";
import { type SiteName, SITES } from "../../lab/sites/names.ts";
import { ReplicatedStorage } from "../../lab/sites/replicated-storage.ts";
import { createNamespace, type Site, type SiteOptions, startSite } from "../../lab/sites/site.ts";
import { FailoverPolicy, type Role } from "../../src/api/failover/failover-policy.ts";
import type { ClusterAccess } from "../../src/kube/client/access.ts";
import { apiServer } from "./api-server.ts";

const { signal } = new AbortController();

type Options = Partial<Pick<SiteOptions, "storage" | "inspects" | "csiAddonsVersion" | "kinds">> & { name?: string; audit?: boolean };

/** A site for one suite: a real control plane, kwok, csi-addons, and the stand-ins of lab/sites. Most of a test's life is in a namespace of its own. */
export class FailoverSite {
  readonly site: Site;
  /** As a cluster-admin. */
  readonly access: ClusterAccess;
  readonly #stopServer: () => Promise<void>;

  constructor(site: Site, access: ClusterAccess, stopServer: () => Promise<void>) {
    this.site = site;
    this.access = access;
    this.#stopServer = stopServer;
  }

  get client(): Site["client"] {
    return this.site.client;
  }

  /** A new namespace with the application of lab/sites/application.ts in it, running. */
  async application(options: { namespace?: string; role?: Role; graceSeconds?: number } = {}): Promise<SiteApplication> {
    const namespace = options.namespace ?? `app-${randomBytes(3).toString("hex")}`;
    await createNamespace(this.client, namespace, signal);
    await createApplication(this.site, { role: "primary", ...options, namespace }, signal);
    return new SiteApplication(this.site, namespace);
  }

  async stop(): Promise<void> {
    await this.site.stop();
    await this.#stopServer();
  }
}

/** One application in its namespace. */
class SiteApplication {
  readonly namespace: string;
  readonly #site: Site;

  constructor(site: Site, namespace: string) {
    this.#site = site;
    this.namespace = namespace;
  }

  /** A policy about all of it, called `site`. */
  policy(spec: Partial<FailoverPolicy["spec"]> & { desiredState: Role }): Promise<FailoverPolicy> {
    const { namespace } = this;
    const policies = this.#site.client.resource(FailoverPolicy);
    return policies.create(
      { metadata: { name: "site", namespace }, spec: { managedResources: MANAGED, ...spec } as FailoverPolicy["spec"] },
      { signal },
    );
  }

  /** Specs and annotations by `Kind/name`, to compare before with after. */
  read(): Promise<Record<string, ReadObject>> {
    return readApplication(this.#site, this.namespace, signal);
  }
}

export async function failoverSite(suite: string, options: Options = {}, onStop = () => Promise.resolve()): Promise<FailoverSite> {
  const { audit, name = "here", ...rest } = options;
  const suiteServer = await apiServer(suite, audit === undefined ? {} : { audit });
  const { server, access } = suiteServer;
  try {
    const site = await startSite({ name, binaries: await kubeBinaries(silent), server, progress: silent, ...rest });
    await installIdentities(site.client, signal);
    const stop = async () => {
      await suiteServer.stop();
      await onStop();
    };
    return new FailoverSite(site, access, stop);
  } catch (error) {
    await suiteServer.stop();
    throw error;
  }
}

/** Two sites whose volumes mirror each other. */
export async function failoverSites(suite: string, options: Omit<Options, "storage" | "name"> = {}): Promise<[FailoverSite, FailoverSite]> {
  const storage = await ReplicatedStorage.start({ progress: silent, sites: SITES });
  try {
    let running = SITES.length;
    const onStop = async () => {
      running -= 1;
      if (running === 0) await storage.stop();
    };
    const start = (name: SiteName) => failoverSite(`${suite}-${name}`, { ...options, storage, name }, onStop);
    return await Promise.all([start("east"), start("west")]);
  } catch (error) {
    await storage.stop();
    throw error;
  }
}
