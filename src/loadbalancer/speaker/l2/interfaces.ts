import { type Address, parseAddress, type Family } from "../../../ip/address.ts";
import { DEVICE, isServiceAddress, type AddressRow } from "./ip-address-commands.ts";

/** An interface for service addresses. */
export interface Nic {
  readonly name: string;
  readonly index: number;
  readonly mac: string;
}

interface Row extends Nic {
  readonly isUp: boolean;
  readonly hasCarrier: boolean;
  readonly fits: boolean;
  /** Neighbor discovery needs one. */
  readonly linkLocal: boolean;
}

interface Found {
  readonly address: string;
  readonly nic: Nic;
  readonly validSeconds: number;
}

/** The node's interfaces, and which service addresses are on them. */
export interface ObservedInterfaces {
  readonly rows: readonly Row[];
  /** Of all interfaces: frames with these are our own. */
  readonly macs: ReadonlySet<string>;
  readonly ours: readonly Found[];
  /** Addresses that an earlier version added to an interface of the node, by address and interface. */
  readonly onNics: ReadonlySet<string>;
  /** Interfaces on which the kernel does not answer ARP for addresses of other links: `arp_ignore`, set by kube-proxy's strict ARP. */
  readonly ignoringArp: ReadonlySet<string>;
  /** Addresses that Plumbline did not add, with their interfaces. */
  readonly foreign: ReadonlyMap<string, readonly string[]>;
  /** Addresses that IPVS serves. */
  readonly ipvs: ReadonlySet<string>;
}

/** Interfaces that are not used unless named: container links, tunnels, loopback. */
const NOT_BY_THEMSELVES = /^(?:docker|cbr|dummy|virbr|lxcbr|veth|lo$|cali|tunl|flannel|kube-ipvs|cni|nodelocaldns|lxc|plumbline-vip$)/;
const IPVS = "kube-ipvs0";

interface LinkRow {
  readonly ifindex: number;
  readonly ifname: string;
  readonly flags: readonly string[];
  readonly link_type: string;
  readonly master?: string;
  readonly address?: string;
  readonly addr_info?: readonly AddressRow[];
}

/** From `ip -j addr`, and the interfaces with `arp_ignore`. */
export function observed(dump: unknown, ignoringArp: ReadonlySet<string> = new Set()): ObservedInterfaces {
  const rows: Row[] = [];
  const macs = new Set<string>();
  const ours: Found[] = [];
  const foreign = new Map<string, readonly string[]>();
  const ipvs = new Set<string>();
  for (const link of dump as readonly LinkRow[]) {
    // An address that vanished while all were read leaves an empty object.
    const { ifname: name, ifindex: index, flags, address: mac = "", addr_info: addresses = [] } = link;
    if (name === undefined) continue;
    const nic = { name, index, mac };
    macs.add(mac);
    const has = (flag: string) => flags.includes(flag);
    const fits =
      has("UP") &&
      has("LOWER_UP") &&
      !has("NOARP") &&
      !has("LOOPBACK") &&
      link.master === undefined &&
      link.link_type === "ether" &&
      name !== DEVICE;
    let linkLocal = false;
    for (const row of addresses) {
      if (row.local === undefined) continue;
      const text = String(parseAddress(row.local));
      linkLocal ||= row.family === "inet6" && row.scope === "link" && row.tentative !== true;
      if (name === IPVS) ipvs.add(text);
      else if (isServiceAddress(row)) ours.push({ address: text, nic, validSeconds: row.valid_life_time });
      else foreign.set(text, [...(foreign.get(text) ?? []), name]);
    }
    rows.push({ ...nic, isUp: has("UP"), hasCarrier: has("LOWER_UP"), fits, linkLocal });
  }
  const onNics = new Set(ours.filter(({ nic }) => nic.name !== DEVICE).map(addressKey));
  return { rows, macs, ours, onNics, ignoringArp, foreign, ipvs };
}

/** The named interfaces that can carry the family, or all of the node's own. */
export function usableInterfaces({ rows }: ObservedInterfaces, family: Family, named: readonly string[] | undefined): Nic[] {
  return rows
    .filter(({ fits, linkLocal, name }) => fits && (family === 4 || linkLocal) && (named?.includes(name) ?? isNodesOwn(name)))
    .map(({ name, index, mac }) => ({ name, index, mac }));
}

/** The interfaces on which addresses have been or may be announced. An interface without a carrier that was never used is no fault. */
export class UsedInterfaces {
  readonly #names = new Set<string>();

  /** Those that are named, and those that are fit for it now. */
  add(wanted: Iterable<{ address: Address; interfaces?: readonly string[] | undefined }>, observation: ObservedInterfaces): void {
    // Thousands of addresses use a few sets of interfaces.
    const known = new Set<string>();
    for (const { address, interfaces } of wanted) {
      const selection = `${address.family} ${interfaces?.join(" ") ?? "*"}`;
      if (known.has(selection)) continue;
      known.add(selection);
      for (const name of interfaces ?? []) this.#names.add(name);
      for (const { name } of usableInterfaces(observation, address.family, interfaces)) this.#names.add(name);
    }
  }

  lost({ rows }: ObservedInterfaces): string[] {
    return rows.filter(({ name, isUp, hasCarrier }) => isUp && !hasCarrier && this.#names.has(name)).map(({ name }) => name);
  }
}

/** Whether the name is that of a physical or similar interface. */
export function isNodesOwn(name: string): boolean {
  return !NOT_BY_THEMSELVES.test(name);
}

/** The message if there is none. */
export function noUsableInterface(named: readonly string[] | undefined): string {
  return named === undefined
    ? "no usable interface: it must be up, support ARP and have no master"
    : `no usable interface among ${named.join(", ")}: it must exist, be up and have no master`;
}

export function addressKey({ address, nic }: { readonly address: Address | string; readonly nic: Nic }): string {
  return `${String(address)} ${nic.name}`;
}
