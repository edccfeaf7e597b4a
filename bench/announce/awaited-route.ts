import { setTimeout as sleep } from "node:timers/promises";
import type { FrrClient } from "../../src/frr/client.ts";

const { signal } = new AbortController();
const ASK_AGAIN_MS = 1;
const PATIENCE_MS = 10_000;

interface Answer {
  readonly paths?: readonly { valid?: boolean; removed?: boolean; community?: { list: string[] } }[];
}

/** The route that bgpd is to have of a Service. Where communities are given where a prefix enters, it has to have its own. */
export class AwaitedRoute {
  readonly #router: FrrClient;
  readonly #line: string;
  readonly #community: string | undefined;

  constructor(router: FrrClient, address: string, community?: string) {
    this.#router = router;
    this.#line = `show bgp ipv4 unicast ${address}/32 json`;
    this.#community = community;
  }

  isThere(): Promise<void> {
    return this.#until(true);
  }

  isGone(): Promise<void> {
    return this.#until(false);
  }

  async #until(there: boolean): Promise<void> {
    const deadline = performance.now() + PATIENCE_MS;
    while ((await this.#has()) !== there) {
      if (performance.now() > deadline)
        throw new Error(`"${this.#line}": FRR ${there ? "does not have the route" : "still has the route"}`);
      await sleep(ASK_AGAIN_MS);
    }
  }

  async #has(): Promise<boolean> {
    const vty = await this.#router.vty("bgpd", signal);
    const { paths = [] } = await vty.json<Answer>(this.#line, signal);
    const isIts = (list: readonly string[] = []) => this.#community === undefined || list.includes(this.#community);
    return paths.some(({ valid, removed, community }) => valid && !removed && isIts(community?.list));
  }
}
