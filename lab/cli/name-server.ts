import { join } from "node:path";
import type { Machine, RemoteProcess } from "../machine/machine.ts";
import { hostOf, type Net } from "../net/net.ts";
import type { AnnouncedService, AnnouncedServices } from "./announced-services.ts";

const PROGRAM = join(import.meta.dirname, "../dns/name-server.ts");
/** Finds it among the processes of the lab's machine. */
export const NAME_SERVER_PROCESS = "dns/name-server\\.ts ";
/** In the lab's machine: what the name server says instead of what is so. */
export const OVERRIDES_FILE = "/run/plumbline-lab-lies";

/**
 * Each node has directories of its own, and in one of them may be what /etc/resolv.conf points to, with nothing there yet. Where it points to the
 * machine's, that one is not ours to write to.
 */
const USE_NAME_SERVER = `
file=$(readlink -m /etc/resolv.conf)
own=/run/plumbline-resolv.conf
case $file in /run/*) own=$file && mkdir -p "\${file%/*}" ;; esac
echo "nameserver $1" >"$own"
[ "$own" = "$file" ] || mount -n --bind "$own" "$file"
`;

/** A stand-in for the name server of a cluster, and nodes that ask it: it knows each service, and itself as dns.lab. Returns what ends it. */
export async function startNameServer(options: {
  machine: Machine;
  address: string;
  net: Net;
  services: AnnouncedServices;
}): Promise<() => Promise<void>> {
  const { machine, address, net, services } = options;
  const flags = ["--disable-warning=ExperimentalWarning"];
  const server: RemoteProcess = machine.start([process.execPath, ...flags, PROGRAM, address, OVERRIDES_FILE]);
  const tell = () => server.input(`${JSON.stringify({ "dns.lab": address, ...namesOf(services.list()) })}\n`);
  services.subscribe(tell);
  tell();
  for (const node of net.topology.nodes) await hostOf(net, node).do(["sh", "-ec", USE_NAME_SERVER, "sh", address]);
  return () => server.kill();
}

/** `wiki.default.svc.cluster.local` */
function namesOf(services: readonly AnnouncedService[]): Record<string, string> {
  return Object.fromEntries(
    services.flatMap(({ key, clusterIPs: [address] }) => {
      const [namespace, name] = key.split("/");
      return address === undefined ? [] : [[`${name}.${namespace}.svc.cluster.local`, address]];
    }),
  );
}
