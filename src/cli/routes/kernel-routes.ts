import { list, record, text } from "../../frr/show-json.ts";
import { type RunOnNode, runOnNode } from "../support-bundle/run-on-node.ts";

/** The routes of all VRFs of a network namespace, as `VRF PREFIX`; those of the main table are of VRF `default`. */
export async function kernelRoutes(run: RunOnNode, netns: string | undefined): Promise<ReadonlySet<string>> {
  const ip = ["ip", ...(netns === undefined ? [] : ["-n", netns]), "-j", "-d"];
  const [four, six, links] = await runOnNode(run, [
    [...ip, "-4", "route", "show", "table", "all"],
    [...ip, "-6", "route", "show", "table", "all"],
    [...ip, "link", "show", "type", "vrf"],
  ]);
  const vrfs = new Map(list(parsed(links?.stdout)).map((link) => [tableOf(link), text(record(link)["ifname"]) ?? ""]));
  vrfs.set("main", "default");
  return new Set([...routesIn(parsed(four?.stdout), 32, vrfs), ...routesIn(parsed(six?.stdout), 128, vrfs)]);
}

function* routesIn(answer: unknown, bits: number, vrfs: ReadonlyMap<string, string>): Iterable<string> {
  for (const route of list(answer).map(record)) {
    const [vrf, prefix] = [vrfs.get(tableName(route["table"]) ?? "main"), text(route["dst"])];
    if (vrf === undefined || prefix === undefined || (text(route["type"]) ?? "unicast") !== "unicast") continue;
    const whole = prefix === "default" ? (bits === 32 ? "0.0.0.0/0" : "::/0") : prefix;
    yield `${vrf} ${whole.includes("/") ? whole : `${whole}/${bits}`}`;
  }
}

function tableOf(link: unknown): string {
  return tableName(record(record(record(link)["linkinfo"])["info_data"])["table"]) ?? "";
}

/** Of a table without a name, its number. */
function tableName(value: unknown): string | undefined {
  return typeof value === "number" ? value.toString() : text(value);
}

/** Nothing at all is how `ip -j` says that there is none. */
function parsed(output = ""): unknown {
  return output.trim() === "" ? [] : JSON.parse(output);
}
