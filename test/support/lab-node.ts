import type { NodeName } from "../../lab/net/topology.ts";
import type { TestLab } from "./router-lab.ts";

/** One node of the lab as a test looks at it. */
export class LabNode {
  readonly #lab: TestLab;
  readonly #name: NodeName;

  constructor(lab: TestLab, name: NodeName) {
    this.#lab = lab;
    this.#name = name;
  }

  do(...command: string[]): Promise<string> {
    return this.#lab.host(this.#name).do(command);
  }

  ip(...lines: string[]): Promise<void> {
    return this.#lab.host(this.#name).ip(lines);
  }

  /** Whether one ping from a network namespace is answered. */
  pings(namespace: string, address: string): Promise<boolean> {
    return this.#lab.pings(this.#name, namespace, address);
  }

  /** What became of resources as they are now, by kind and name: `Applied`. */
  async states(resources: readonly string[]): Promise<Record<string, string | undefined>> {
    const entries = resources.map(async (resource) => {
      const [kind = "", name = ""] = resource.split(" ");
      return [resource, await this.#lab.state(this.#name, kind, name)] as const;
    });
    return Object.fromEntries(await Promise.all(entries));
  }

  /** `L2VNI red ValidationFailed: VNI 100 conflicts with L3VNI red` */
  async failures(): Promise<string[]> {
    const failures = await this.#lab.failures(this.#name);
    return failures.map(({ kind, name, reason, message }) => `${kind} ${name} ${reason}: ${message}`);
  }

  /** By vrf, neighbor and state: `red 192.0.2.1 Established`. */
  async sessions(): Promise<string[]> {
    return ((await this.#lab.status(this.#name))?.sessions ?? []).map(({ vrf, neighbor, state }) => `${vrf} ${neighbor} ${state}`);
  }

  /** By name, those in the router's namespace with its name before theirs; each with the number that it keeps for as long as it lives. */
  async links(): Promise<Map<string, string>> {
    const text = await this.do("sh", "-c", "ip -o link; ip -n perouter -o link | sed 's,: ,: perouter/,'");
    return new Map([...text.matchAll(/^(\d+): ([^@:]+)/gm)].map(([, index = "", name = ""]) => [name, index]));
  }

  async linkNames(): Promise<string[]> {
    return [...(await this.links()).keys()];
  }

  runningConfig(): Promise<string> {
    return this.do("vtysh", "-N", "plumbline-router", "-c", "show running-config");
  }

  /** To the BGP speaker that every node of the lab has. */
  async speak(lines: readonly string[]): Promise<void> {
    await this.do(...configuring(["-N", "speaker"], ["router bgp 64515", ...lines]));
  }

  /** A host on a bridge: a network namespace with addresses, whose gateways are the first of their subnets. */
  async addHost(name: string, bridge: string, addresses: readonly string[]): Promise<void> {
    await this.ip(`netns add ${name}`, `link add to-${name} up master ${bridge} type veth peer name eth0 netns ${name}`);
    const lines = addresses.flatMap((address) => [
      `address add ${address} dev eth0 ${address.includes(":") ? "nodad" : ""}`,
      `route add default via ${address.replace(/\d+\/\d+$/, "1")}`,
    ]);
    const input = ["link set eth0 addrgenmode none up", ...lines, ""].join("\n");
    await this.#lab.host(this.#name).do(["ip", "-n", name, "-batch", "-"], { input });
  }
}

/** The vtysh that types these lines. */
export function configuring(options: readonly string[], lines: readonly string[]): string[] {
  return ["vtysh", ...options, "-c", "configure terminal", ...lines.flatMap((line) => ["-c", line])];
}
