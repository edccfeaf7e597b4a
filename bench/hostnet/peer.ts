import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type { DesiredLink } from "../../src/hostnet/desired-link.ts";
import { linksOf, type Built } from "./links.ts";

const [host = "", router = "", count = ""] = process.argv.slice(2);
const namespaces = { host, router };
const run = promisify(execFile);

/** As one types them, and as OpenPERouter does it: create, then one thing after the other. */
function stepsOf(link: DesiredLink): string[][] {
  const { name, mac, mtu, master, addrGenMode, addresses = [] } = link;
  const set = (...args: string[]) => ["link", "set", "dev", name, ...args];
  const steps: string[][] = [];
  if (link.type === "bridge") steps.push(["link", "add", name, "type", "bridge"]);
  else if (link.type === "vxlan") {
    const { vni, port, local, device } = link;
    steps.push(["link", "add", name, "type", "vxlan", "id", `${vni}`, "dstport", `${port}`, "local", local, "dev", device, "nolearning"]);
  } else if (link.type === "veth" && link.netns === "host") {
    steps.push(["link", "add", name, "type", "veth", "peer", "name", link.peer.name, "netns", router]);
  }
  steps.push(set("alias", `plumbline:${link.owner}`));
  if (mac !== undefined) steps.push(set("address", mac));
  if (mtu !== undefined) steps.push(set("mtu", `${mtu}`));
  if (master !== undefined) steps.push(set("master", master));
  if (link.type === "vxlan") steps.push(set("type", "bridge_slave", "neigh_suppress", "on", "learning", "off"));
  if (addrGenMode !== undefined) steps.push(set("addrgenmode", addrGenMode));
  steps.push(set("up"));
  for (const address of addresses) steps.push(["addr", "add", address, "dev", name, ...(address.includes(":") ? ["nodad"] : [])]);
  return steps;
}

const start = performance.now();
for (let n = 0; n < Number(count); n++) {
  for (const link of linksOf(n)) {
    for (const step of stepsOf(link)) await run("ip", ["-n", namespaces[link.netns], ...step]);
  }
}
process.send?.({ ms: performance.now() - start } satisfies Built);
process.disconnect();
