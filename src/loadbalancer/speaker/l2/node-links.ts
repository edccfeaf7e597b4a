import { changeAll } from "../../../hostnet/change-all.ts";
import { KernelError } from "../../../hostnet/error.ts";
import { run } from "../../../hostnet/run.ts";
import type { Log } from "../../../kube/log.ts";
import { drop, keep, RESTART_LIFETIME_S } from "./address-form.ts";
import { observed, type Observed } from "./nics.ts";
import type { Due, Spot, Steps } from "./tenures/tenure.ts";

const GONE = /Cannot assign requested address|Cannot find device|address not found/i;
const INTERRUPTED = "Dump was interrupted";
const MOST_READS = 10;
const OUTLAST_MS = 5_000;
/** As many lines as a pipe takes at once. */
const CHUNK = 1_500;

/** Addresses on the links of one namespace. */
export class NodeLinks {
  readonly #netns: string | undefined;
  readonly #log: Log;

  constructor(netns: string | undefined, log: Log) {
    this.#netns = netns;
    this.#log = log;
  }

  async look(signal: AbortSignal): Promise<Observed> {
    const entry = this.#netns === undefined ? [] : ["-n", this.#netns];
    for (let attempt = 1; ; attempt++) {
      const { stdout, stderr } = await run("ip", [...entry, "-j", "addr"], { signal, namespace: this.#netns });
      // A link that was left out would cost its addresses.
      if (!stderr.includes(INTERRUPTED)) return observed(JSON.parse(stdout));
      if (attempt === MOST_READS)
        throw new KernelError("Timeout", "links come and go faster than they can be read", {
          command: "ip -j addr",
          namespace: this.#netns ?? "",
        });
    }
  }

  /** Gives the kernel's words for each address that it did not take. What it is told leaves in the same tick. */
  async carryOut(steps: Pick<Steps, "drop" | "refresh" | "add">, signal: AbortSignal): Promise<ReadonlyMap<Due, string>> {
    const kept = [...steps.refresh, ...steps.add];
    const lines = [
      ...steps.drop.map(({ address, nic }) => drop(address, nic.name)),
      ...kept.map(({ address, nic }) => keep(address, nic.name)),
    ];
    const words = await changeAll(lines, { signal, namespace: this.#netns });
    for (const [at, { address, nic }] of steps.drop.entries()) {
      const refusal = words.get(at);
      if (refusal === undefined) this.#log.info({ address: String(address), interface: nic.name }, "address let go");
      else if (!GONE.test(refusal))
        this.#log.warn(
          { address: String(address), interface: nic.name, words: refusal },
          "address could not be removed; it goes by itself",
        );
    }
    const refused = new Map<Due, string>();
    for (const [at, due] of kept.entries()) {
      const refusal = words.get(steps.drop.length + at);
      if (refusal !== undefined) refused.set(due, refusal);
    }
    return refused;
  }

  /** A restart costs nothing: the addresses outlive it. */
  async outlast(held: readonly Due[], leaving: readonly Spot[]): Promise<void> {
    const signal = AbortSignal.timeout(OUTLAST_MS);
    const rest = [...held];
    try {
      await changeAll(
        leaving.map(({ address, nic }) => drop(address, nic.name)),
        { signal, namespace: this.#netns },
      );
      while (rest.length > 0) {
        const now = performance.now();
        const lasting = rest.splice(0, CHUNK).filter(({ by }) => now < by);
        await changeAll(
          lasting.map(({ address, nic }) => keep(address, nic.name, RESTART_LIFETIME_S)),
          { signal, namespace: this.#netns },
        );
      }
    } catch (error) {
      this.#log.warn({ error }, "addresses could not be given time for a restart");
    }
  }
}
