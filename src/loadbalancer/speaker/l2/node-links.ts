import { join } from "node:path";
import type { IpArgs } from "../../../hostnet/batch.ts";
import { changeAll } from "../../../hostnet/change-all.ts";
import { KernelError } from "../../../hostnet/error.ts";
import { run } from "../../../hostnet/run.ts";
import { parseAddress } from "../../../ip/address.ts";
import type { Log } from "../../../kube/log.ts";
import { CREATE_DEVICE, DEVICE, deleteArgs, addOrRefreshArgs, RESTART_LIFETIME_S } from "./ip-address-commands.ts";
import { addressKey, observed, type ObservedInterfaces } from "./interfaces.ts";
import type { Drop, Due, AddressOnInterface, Steps } from "./address-ownership.ts";

const GONE = /Cannot assign requested address|Cannot find device|address not found/i;
const NO_DEVICE = /Cannot find device/;
const INTERRUPTED = "Dump was interrupted";
const ARP_IGNORE = /\/([^/]+)\/arp_ignore:(\d+)$/gm;
const MOST_READS = 10;
const OUTLAST_MS = 5_000;
/** As many lines as a pipe takes at once. */
const CHUNK = 1_500;

export class NodeLinks {
  readonly #netns: string | undefined;
  readonly #log: Log;
  /** Addresses that an earlier version added to the node's interfaces, by address and interface. */
  #onNics: ReadonlySet<string> = new Set();
  #hasDevice = false;
  /** Addresses on our link whose local route is missing: the kernel does not accept their packets. */
  #unrouted: ReadonlySet<string> = new Set();

  constructor(netns: string | undefined, log: Log) {
    this.#netns = netns;
    this.#log = log;
  }

  async read(signal: AbortSignal): Promise<ObservedInterfaces> {
    const entry = this.#netns === undefined ? [] : ["-n", this.#netns];
    const ignoringArp = await this.#ignoringArp(signal);
    for (let attempt = 1; ; attempt++) {
      const { stdout, stderr } = await run("ip", [...entry, "-j", "addr"], { signal, namespace: this.#netns });
      // A missing link would cost its addresses.
      if (!stderr.includes(INTERRUPTED)) return this.#routed(this.#remember(observed(JSON.parse(stdout), ignoringArp)), signal);
      if (attempt === MOST_READS)
        throw new KernelError("Timeout", "links change faster than they can be read", {
          command: "ip -j addr",
          namespace: this.#netns ?? "",
        });
    }
  }

  /** Returns what the kernel answered for each address that it rejected. The commands are sent in the same tick. */
  async carryOut(steps: Pick<Steps, "drop" | "refresh" | "add">, signal: AbortSignal): Promise<ReadonlyMap<Due, string>> {
    const drops = steps.drop.flatMap((addressOnNic) => this.#drops(addressOnNic).map((args) => ({ addressOnNic, args })));
    const kept = [...steps.refresh, ...steps.add];
    const created = kept.length === 0 || this.#hasDevice ? [] : CREATE_DEVICE;
    // An address of several interfaces is added once.
    const addresses = [...new Map(kept.map(({ address }) => [String(address), address])).entries()];
    // The kernel adds the local route only together with the address.
    const cleared = addresses.filter(([text]) => this.#unrouted.has(text)).map(([, address]) => deleteArgs(address));
    const before = [...drops.map(({ args }) => args), ...cleared, ...created];
    this.#unrouted = new Set();
    const answers = await changeAll([...before, ...addresses.map(([, address]) => addOrRefreshArgs(address))], {
      signal,
      namespace: this.#netns,
    });
    for (const [at, { addressOnNic }] of drops.entries()) {
      const rejection = answers.get(at);
      const about = { address: String(addressOnNic.address), interface: addressOnNic.nic.name };
      if (rejection === undefined) this.#log.info(about, "address released");
      else if (!GONE.test(rejection)) this.#log.warn({ ...about, reason: rejection }, "cannot remove address; it expires");
    }
    this.#hasDevice ||= created.length > 0;
    const rejections = new Map<string, string>();
    for (const [at, [text]] of addresses.entries()) {
      const rejection = answers.get(before.length + at);
      if (rejection === undefined) continue;
      // The link was removed; the next attempt creates it again.
      if (NO_DEVICE.test(rejection)) this.#hasDevice = false;
      const why =
        created.length > 0 && NO_DEVICE.test(rejection)
          ? `cannot create ${DEVICE}: ${answers.get(before.length - created.length + 1)}`
          : rejection;
      rejections.set(text, why);
    }
    return new Map(
      kept.flatMap((due) => {
        const rejection = rejections.get(String(due.address));
        return rejection === undefined ? [] : [[due, rejection] as const];
      }),
    );
  }

  /** Removes addresses of earlier versions from the node's interfaces. The kernel or the packet socket answers for them without it. */
  async takeOffNics(addressesOnNics: readonly AddressOnInterface[], signal: AbortSignal): Promise<void> {
    const lines = addressesOnNics
      .filter((addressOnNic) => this.#onNics.has(addressKey(addressOnNic)))
      .map(({ address, nic }) => deleteArgs(address, nic.name));
    await changeAll(lines, { signal, namespace: this.#netns });
  }

  /** Owned addresses outlive a restart; without any, nothing of ours stays. */
  async outlast(owned: readonly Due[], leaving: readonly Drop[]): Promise<void> {
    const signal = AbortSignal.timeout(OUTLAST_MS);
    const rest = [...owned];
    const deleted = rest.length === 0 && this.#hasDevice ? [["link", "del", DEVICE]] : [];
    try {
      await changeAll([...leaving.flatMap((addressOnNic) => this.#drops(addressOnNic)), ...deleted], { signal, namespace: this.#netns });
      while (rest.length > 0) {
        const now = performance.now();
        const lasting = rest.splice(0, CHUNK).filter(({ by }) => now < by);
        await changeAll(
          lasting.map(({ address }) => addOrRefreshArgs(address, RESTART_LIFETIME_S)),
          { signal, namespace: this.#netns },
        );
      }
    } catch (error) {
      this.#log.warn({ error }, "cannot extend address lifetimes for a restart");
    }
  }

  #drops(addressOnNic: Drop): IpArgs[] {
    const { address, nic, isLast } = addressOnNic;
    return [
      ...(isLast ? [deleteArgs(address)] : []),
      ...(this.#onNics.has(addressKey(addressOnNic)) ? [deleteArgs(address, nic.name)] : []),
    ];
  }

  #remember(observation: ObservedInterfaces): ObservedInterfaces {
    this.#onNics = observation.onNics;
    this.#hasDevice = observation.rows.some(({ name, isUp }) => name === DEVICE && isUp);
    return observation;
  }

  /** Leaves out addresses whose local route is missing, so that they are added again. */
  async #routed(observation: ObservedInterfaces, signal: AbortSignal): Promise<ObservedInterfaces> {
    const onLink = observation.ours.filter(({ nic }) => nic.name === DEVICE).map(({ address }) => parseAddress(address));
    const routed = new Set<string>();
    for (const family of [4, 6] as const) {
      if (!onLink.some((address) => address.family === family)) continue;
      const entry = this.#netns === undefined ? [] : ["-n", this.#netns];
      const args = [...entry, `-${family}`, "-j", "route", "show", "table", "local", "dev", DEVICE];
      const { stdout } = await run("ip", args, { signal, namespace: this.#netns });
      for (const { dst } of JSON.parse(stdout) as { dst: string }[]) if (!dst.includes("/")) routed.add(String(parseAddress(dst)));
    }
    this.#unrouted = new Set(onLink.map(String).filter((address) => !routed.has(address)));
    if (this.#unrouted.size === 0) return observation;
    this.#log.warn(
      { addresses: [...this.#unrouted].slice(0, 10) },
      "local routes of service addresses are missing, adding the addresses again",
    );
    return { ...observation, ours: observation.ours.filter(({ address, nic }) => nic.name !== DEVICE || !this.#unrouted.has(address)) };
  }

  async #ignoringArp(signal: AbortSignal): Promise<ReadonlySet<string>> {
    const entry = this.#netns === undefined ? [] : ["nsenter", `--net=${join("/run/netns", this.#netns)}`, "--"];
    const [program, ...args] = [...entry, "grep", "-rs", "--include=arp_ignore", "", "/proc/sys/net/ipv4/conf"];
    const { stdout } = await run(program, args, { signal, namespace: this.#netns });
    const settings = new Map([...stdout.matchAll(ARP_IGNORE)].map(([, name = "", value]) => [name, value !== "0"]));
    return new Set(settings.keys().filter((name) => settings.get(name) === true || settings.get("all") === true));
  }
}
