import { type SiteName, SITES } from "../../lab/sites/names.ts";
import type { Pod } from "../../src/api/core/pod.ts";
import type { Cache } from "../../src/kube/cache/cache.ts";

type Pods = Readonly<Record<SiteName, Pick<Cache<Pod>, "subscribe">>>;
/** The pods of an application at a site, read live. */
type ReadPods = (site: SiteName) => Promise<readonly Pod[]>;

/**
 * Pods of one application that were at both sites at once. Terminating ones count: a volume is demoted only when they are gone. The two clusters have no common
 * clock, so a pod counts that is at its site before and after one is read at the other site.
 */
export class PodOverlaps {
  readonly #pods: Pods;
  readonly #read: ReadPods;
  readonly #checks: Promise<string | undefined>[] = [];

  constructor(pods: Pods, read: ReadPods) {
    this.#pods = pods;
    this.#read = read;
  }

  /** Looks at the other site from now on whenever a pod appears or changes at one. */
  begin(): void {
    for (const site of SITES) {
      this.#pods[site].subscribe(({ type, object }) => {
        if (type === "deleted") return;
        const check = this.#check(site, object);
        // `found` reports it.
        check.catch(() => undefined);
        this.#checks.push(check);
      });
    }
  }

  async found(): Promise<string[]> {
    const found = await Promise.all(this.#checks);
    return [...new Set(found.filter((one) => one !== undefined))];
  }

  async #check(site: SiteName, { metadata: { namespace, name, uid } }: Pod): Promise<string | undefined> {
    const otherSite = site === "east" ? "west" : "east";
    const [other] = await this.#read(otherSite);
    if (!other) return undefined;
    const isLeft = (await this.#read(site)).some(({ metadata }) => metadata.uid === uid);
    return isLeft ? `${namespace}/${name} at ${site} beside ${other.metadata.name} at ${otherSite}` : undefined;
  }
}
