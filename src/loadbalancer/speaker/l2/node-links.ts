import { join } from "node:path";
import type { Words } from "../../../hostnet/batch.ts";
import { changeAll } from "../../../hostnet/change-all.ts";
import { KernelError } from "../../../hostnet/error.ts";
import { run } from "../../../hostnet/run.ts";
import { parseAddress } from "../../../ip/address.ts";
import type { Log } from "../../../kube/log.ts";
import { CREATE_DEVICE, DEVICE, drop, keep, RESTART_LIFETIME_S } from "./ip-address-commands.ts";
import { observed, type Observed } from "./interfaces.ts";
import type { Drop, Due, Spot, Steps } from "./address-ownership.ts";

const GONE = /Cannot assign requested address|Cannot find device|address not found/i;
const NO_DEVICE = /Cannot find device/;
const INTERRUPTED = "Dump was interrupted";
const ARP_IGNORE = /\/([^/]+)\/arp_ignore:(\d+)$/gm;
const MOST_READS = 10;
const OUTLAST_MS = 5_000;
/** As many lines as a pipe takes at once. */
const CHUNK = 1_500;

/** Addresses on the links of one namespace. */
export class NodeLinks {
  readonly #netns: string | undefined;
  readonly #log: Log;
  /** What an earlier version has put on the node's interfaces, by address and interface. */
  #onNics: ReadonlySet<string> = new Set();
  #hasDevice = false;
  /** Addresses on our link whose local route is missing: the kernel does not accept their packets. */
  #unrouted: ReadonlySet<string> = new Set();

  constructor(netns: string | undefined, log: Log) {
    this.#netns = netns;
    this.#log = log;
  }

  async look(signal: AbortSignal): Promise<Observed> {
    const entry = this.#netns === undefined ? [] : ["-n", this.#netns];
    const ignoringArp = await this.#ignoringArp(signal);
    for (let attempt = 1; ; attempt++) {
      const { stdout, stderr } = await run("ip", [...entry, "-j", "addr"], { signal, namespace: this.#netns });
      // A link that was left out would cost its addresses.
      if (!stderr.includes(INTERRUPTED)) return this.#routed(this.#remember(observed(JSON.parse(stdout), ignoringArp)), signal);
      if (attempt === MOST_READS)
        throw new KernelError("Timeout", "links come and go faster than they can be read", {
          command: "ip -j addr",
          namespace: this.#netns ?? "",
        });
    }
  }

  /** Gives the kernel's words for each address that it did not take. What it is told leaves in the same tick. */
  async carryOut(steps: Pick<Steps, "drop" | "refresh" | "add">, signal: AbortSignal): Promise<ReadonlyMap<Due, string>> {
    const drops = steps.drop.flatMap((spot) => this.#drops(spot).map((words) => ({ spot, words })));
    const kept = [...steps.refresh, ...steps.add];
    const created = kept.length === 0 || this.#hasDevice ? [] : CREATE_DEVICE;
    // An address that several interfaces answer for is there once.
    const addresses = [...new Map(kept.map(({ address }) => [String(address), address])).entries()];
    // The kernel adds the local route only together with the address.
    const cleared = addresses.filter(([text]) => this.#unrouted.has(text)).map(([, address]) => drop(address));
    const before = [...drops.map(({ words }) => words), ...cleared, ...created];
    this.#unrouted = new Set();
    const words = await changeAll([...before, ...addresses.map(([, address]) => keep(address))], { signal, namespace: this.#netns });
    for (const [at, { spot }] of drops.entries()) {
      const refusal = words.get(at);
      const about = { address: String(spot.address), interface: spot.nic.name };
      if (refusal === undefined) this.#log.info(about, "address let go");
      else if (!GONE.test(refusal)) this.#log.warn({ ...about, words: refusal }, "address could not be removed; it goes by itself");
    }
    this.#hasDevice ||= created.length > 0;
    const refusals = new Map<string, string>();
    for (const [at, [text]] of addresses.entries()) {
      const refusal = words.get(before.length + at);
      if (refusal === undefined) continue;
      // Somebody has removed the link; the next try makes it anew.
      if (NO_DEVICE.test(refusal)) this.#hasDevice = false;
      const why =
        created.length > 0 && NO_DEVICE.test(refusal)
          ? `${DEVICE} cannot be made: ${words.get(before.length - created.length + 1)}`
          : refusal;
      refusals.set(text, why);
    }
    return new Map(
      kept.flatMap((due) => {
        const refusal = refusals.get(String(due.address));
        return refusal === undefined ? [] : [[due, refusal] as const];
      }),
    );
  }

  /** Takes the form that earlier versions gave off the node's interfaces. The kernel or the process for frames answers for these without it. */
  async takeOffNics(spots: readonly Spot[], signal: AbortSignal): Promise<void> {
    const lines = spots.filter((spot) => this.#onNics.has(keyOf(spot))).map(({ address, nic }) => drop(address, nic.name));
    await changeAll(lines, { signal, namespace: this.#netns });
  }

  /** A restart costs nothing: the addresses outlive it. Where there is none, nothing of ours stays. */
  async outlast(held: readonly Due[], leaving: readonly Drop[]): Promise<void> {
    const signal = AbortSignal.timeout(OUTLAST_MS);
    const rest = [...held];
    const deleted = rest.length === 0 && this.#hasDevice ? [["link", "del", DEVICE]] : [];
    try {
      await changeAll([...leaving.flatMap((spot) => this.#drops(spot)), ...deleted], { signal, namespace: this.#netns });
      while (rest.length > 0) {
        const now = performance.now();
        const lasting = rest.splice(0, CHUNK).filter(({ by }) => now < by);
        await changeAll(
          lasting.map(({ address }) => keep(address, RESTART_LIFETIME_S)),
          { signal, namespace: this.#netns },
        );
      }
    } catch (error) {
      this.#log.warn({ error }, "addresses could not be given time for a restart");
    }
  }

  #drops(spot: Drop): Words[] {
    const { address, nic, isLast } = spot;
    return [...(isLast ? [drop(address)] : []), ...(this.#onNics.has(keyOf(spot)) ? [drop(address, nic.name)] : [])];
  }

  #remember(seen: Observed): Observed {
    this.#onNics = seen.onNics;
    this.#hasDevice = seen.rows.some(({ name, isUp }) => name === DEVICE && isUp);
    return seen;
  }

  /** Leaves out addresses whose local route is missing, so that they are added again. */
  async #routed(seen: Observed, signal: AbortSignal): Promise<Observed> {
    const onLink = seen.ours.filter(({ nic }) => nic.name === DEVICE).map(({ address }) => parseAddress(address));
    const routed = new Set<string>();
    for (const family of [4, 6] as const) {
      if (!onLink.some((address) => address.family === family)) continue;
      const entry = this.#netns === undefined ? [] : ["-n", this.#netns];
      const args = [...entry, `-${family}`, "-j", "route", "show", "table", "local", "dev", DEVICE];
      const { stdout } = await run("ip", args, { signal, namespace: this.#netns });
      for (const { dst } of JSON.parse(stdout) as { dst: string }[]) if (!dst.includes("/")) routed.add(String(parseAddress(dst)));
    }
    this.#unrouted = new Set(onLink.map(String).filter((address) => !routed.has(address)));
    if (this.#unrouted.size === 0) return seen;
    this.#log.warn(
      { addresses: [...this.#unrouted].slice(0, 10) },
      "local routes of service addresses are missing, adding the addresses again",
    );
    return { ...seen, ours: seen.ours.filter(({ address, nic }) => nic.name !== DEVICE || !this.#unrouted.has(address)) };
  }

  async #ignoringArp(signal: AbortSignal): Promise<ReadonlySet<string>> {
    const entry = this.#netns === undefined ? [] : ["nsenter", `--net=${join("/run/netns", this.#netns)}`, "--"];
    const [program, ...args] = [...entry, "grep", "-rs", "--include=arp_ignore", "", "/proc/sys/net/ipv4/conf"];
    const { stdout } = await run(program, args, { signal, namespace: this.#netns });
    const settings = new Map([...stdout.matchAll(ARP_IGNORE)].map(([, name = "", value]) => [name, value !== "0"]));
    return new Set(settings.keys().filter((name) => settings.get(name) === true || settings.get("all") === true));
  }
}

const keyOf = ({ address, nic }: Spot) => `${String(address)} ${nic.name}`;
