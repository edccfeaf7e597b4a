import { nft } from "../../hostnet/nft.ts";
import { daemonRemovals, fileRemovals, type ProgramFiles, type Removal } from "../../hostnet/removal.ts";
import { ip, run } from "../../hostnet/run.ts";
import { type AddressRow, DEVICE, isServiceAddress } from "./l2/ip-address-commands.ts";

interface Cleaning extends ProgramFiles {
  /** Undefined for our own. */
  readonly netns?: string | undefined;
}

const FILES = /^(loadbalancer(\.json(\.new|\.damaged|\.version-\d+)?)?|signing-key\.pem(\.new)?)$/;

/** Everything that the load balancer left on this machine, in order of removal. */
export async function removals(cleaning: Cleaning, signal: AbortSignal): Promise<Removal[]> {
  return [
    ...(await daemonRemovals(cleaning)),
    ...(await addresses(cleaning.netns, signal)),
    ...(await tables(cleaning.netns, signal)),
    ...(await fileRemovals(cleaning, FILES)),
  ];
}

async function addresses(netns: string | undefined, signal: AbortSignal): Promise<Removal[]> {
  const links = JSON.parse(await ip(netns, ["-j", "addr"], { signal })) as { ifname: string; addr_info?: AddressRow[] }[];
  const addresses = links.flatMap(({ ifname, addr_info = [] }) =>
    addr_info.filter(isServiceAddress).map(({ local, prefixlen }) => ({
      says: [`Delete service address ${local} on ${ifname}`],
      run: (signal: AbortSignal) => ip(netns, ["addr", "del", `${local}/${prefixlen}`, "dev", ifname], { signal }),
    })),
  );
  const device = { says: [`Delete link ${DEVICE}`], run: (signal: AbortSignal) => ip(netns, ["link", "del", DEVICE], { signal }) };
  return links.some(({ ifname }) => ifname === DEVICE) ? [...addresses, device] : addresses;
}

async function tables(netns: string | undefined, signal: AbortSignal): Promise<Removal[]> {
  const entry = netns === undefined ? [] : ["nsenter", `--net=/run/netns/${netns}`, "--"];
  const [program, ...args] = [...entry, "nft", "list", "tables"];
  // Without nft there is no table of ours.
  const { stdout } = await run(program, args, { signal, namespace: netns }).catch(() => ({ stdout: "" }));
  const families = [...stdout.matchAll(/^table (\w+) plumbline$/gm)].map(([, family = ""]) => family);
  return families.map((family) => ({
    says: [`Delete nftables table ${family} plumbline`],
    run: (signal: AbortSignal) => nft(`delete table ${family} plumbline\n`, { signal, namespace: netns }),
  }));
}
