import { LabError } from "../error.ts";
import { Machine, type ExecOutcome } from "../machine/machine.ts";
import { LabHost, type LabHostAccess } from "./lab-host.ts";
import { type TopologyLink, type LinkEnd, MACHINE, ROUTER_NETNS } from "./topology.ts";

/** What is wrong with a link, in each direction. */
export interface LinkImpairment {
  readonly lossPercent?: number;
  readonly delayMs?: number;
  readonly jitterMs?: number;
  readonly reorderPercent?: number;
  readonly mtu?: number;
}

export interface EndState extends LinkImpairment {
  readonly down?: true;
}

/** A link with what is set on its two ends now. */
export interface ObservedLink extends TopologyLink {
  readonly states: readonly [EndState, EndState];
}

const PLAIN_MTU = 1500;

/** Sets this at both ends, in the place of what was set before; nothing to clear them. */
export async function impairLink({ ends }: TopologyLink, hosts: readonly LabHostAccess[], impairment: LinkImpairment): Promise<void> {
  const devices = await Promise.all(ends.map((end) => accessTo(end, hosts)));
  // First what a kernel may lack, so that nothing has changed when it does.
  for (const each of devices) await setNetem(each, impairment);
  for (const { run, device } of devices)
    succeeded(await run("ip", ["link", "set", "dev", device, "mtu", String(impairment.mtu ?? PLAIN_MTU)]));
}

export async function observeLinks(links: readonly TopologyLink[], hosts: readonly LabHostAccess[]): Promise<ObservedLink[]> {
  const names = [...new Set(links.flatMap(({ ends }) => ends.map(({ host }) => host)))];
  const devices = new Map(
    await Promise.all(
      names.map(async (name): Promise<[string, ReadonlyMap<string, EndState>]> => {
        const { stdout } = succeeded(await runOn(name, hosts, ["sh", "-c", READ_DEVICES]));
        return [name, statesIn(stdout)];
      }),
    ),
  );
  const of = ({ host, device }: LinkEnd) => devices.get(host)?.get(device) ?? {};
  return links.map((link) => ({ ...link, states: [of(link.ends[0]), of(link.ends[1])] }));
}

/** `loss 5%, delay 20ms ± 5ms`; by end where they differ; empty for a good link. */
export function stateText({ ends, states }: ObservedLink): string {
  if (states.some(({ down }) => down)) return "down";
  const [one, other] = [impairmentText(states[0]), impairmentText(states[1])];
  return one === other ? one : `${ends[0].host}: ${one || "good"}; ${ends[1].host}: ${other || "good"}`;
}

function impairmentText({ lossPercent, delayMs, jitterMs, reorderPercent, mtu }: LinkImpairment): string {
  return [
    ...(lossPercent === undefined ? [] : [`loss ${lossPercent}%`]),
    ...(delayMs === undefined ? [] : [`delay ${delayMs}ms${jitterMs === undefined ? "" : ` ± ${jitterMs}ms`}`]),
    ...(reorderPercent === undefined ? [] : [`reorder ${reorderPercent}%`]),
    ...(mtu === undefined ? [] : [`mtu ${mtu}`]),
  ].join(", ");
}

/** Devices of the host first, then those that its router took over. */
const READ_DEVICES = `set -e
ip -j link show
tc -j qdisc show
[ ! -e /run/netns/${ROUTER_NETNS} ] || { ip -n ${ROUTER_NETNS} -j link show; tc -n ${ROUTER_NETNS} -j qdisc show; }`;

interface IpLink {
  readonly ifname: string;
  readonly mtu: number;
  readonly flags: readonly string[];
}

interface TcQdisc {
  readonly kind: string;
  readonly dev: string;
  /** Rates from 0 to 1, times in seconds. */
  readonly options?: {
    readonly delay?: { readonly delay: number; readonly jitter: number };
    readonly "loss-random"?: { readonly loss: number };
    readonly reorder?: { readonly reorder: number };
  };
}

/** Reads what READ_DEVICES prints: lines of JSON, of links and of queueing disciplines in turn. */
export function statesIn(text: string): Map<string, EndState> {
  const found = new Map<string, EndState>();
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  for (let at = 0; at + 1 < lines.length; at += 2) {
    const links = JSON.parse(lines[at] ?? "") as IpLink[];
    const qdiscs = JSON.parse(lines[at + 1] ?? "") as TcQdisc[];
    for (const { ifname, mtu, flags } of links) {
      const netem = qdiscs.find(({ dev, kind }) => dev === ifname && kind === "netem");
      const down = !flags.includes("UP");
      if (!found.has(ifname)) found.set(ifname, { ...netemOf(netem), ...(mtu !== PLAIN_MTU && { mtu }), ...(down && { down }) });
    }
  }
  return found;
}

function netemOf(qdisc: TcQdisc | undefined): LinkImpairment {
  const { delay, "loss-random": loss, reorder } = qdisc?.options ?? {};
  return {
    ...(loss && { lossPercent: rounded(loss.loss * 100) }),
    ...(delay && { delayMs: rounded(delay.delay * 1000) }),
    ...(delay && delay.jitter > 0 && { jitterMs: rounded(delay.jitter * 1000) }),
    ...(reorder && { reorderPercent: rounded(reorder.reorder * 100) }),
  };
}

/** The kernel keeps rates as fractions of 2^32. */
function rounded(value: number): number {
  return Math.round(value * 1000) / 1000;
}

interface DeviceAccess {
  readonly device: string;
  /** A program that knows `-n`, such as ip and tc, in the namespace where the device is. */
  readonly run: (program: "ip" | "tc", args: readonly string[]) => Promise<ExecOutcome>;
}

async function accessTo({ host, device }: LinkEnd, hosts: readonly LabHostAccess[]): Promise<DeviceAccess> {
  const isHere = (await runOn(host, hosts, ["ip", "link", "show", "dev", device])).code === 0;
  const flags = isHere ? [] : ["-n", ROUTER_NETNS];
  return { device, run: (program, args) => runOn(host, hosts, [program, ...flags, ...args]) };
}

async function setNetem({ device, run }: DeviceAccess, impairment: LinkImpairment): Promise<void> {
  const args = netemArgs(impairment);
  if (args.length === 0) {
    // It fails where there is none, which is as well.
    await run("tc", ["qdisc", "del", "dev", device, "root"]);
    return;
  }
  const outcome = await run("tc", ["qdisc", "replace", "dev", device, "root", "netem", ...args]);
  if (/qdisc kind is unknown|No such file/.test(outcome.stderr)) {
    const remedy = "load it with: modprobe sch_netem, or run the lab on a kernel that has it; --mtu works without";
    throw new LabError("CommandFailed", `The lab's kernel has no netem for --loss, --delay, --jitter and --reorder; ${remedy}`);
  }
  succeeded(outcome);
}

function netemArgs({ lossPercent, delayMs, jitterMs, reorderPercent }: LinkImpairment): string[] {
  return [
    ...(delayMs === undefined ? [] : ["delay", `${delayMs}ms`, ...(jitterMs === undefined ? [] : [`${jitterMs}ms`])]),
    ...(reorderPercent === undefined ? [] : ["reorder", `${reorderPercent}%`]),
    ...(lossPercent === undefined ? [] : ["loss", `${lossPercent}%`]),
  ];
}

function runOn(name: string, hosts: readonly LabHostAccess[], command: readonly string[]): Promise<ExecOutcome> {
  const access = hosts.find((host) => host.name === name) ?? hosts[0];
  if (!access) throw new TypeError("a lab has hosts");
  return name === MACHINE ? new Machine(access.machine).run(command) : new LabHost(access).run(command);
}

function succeeded(outcome: ExecOutcome): ExecOutcome {
  if (outcome.code !== 0) throw new LabError("CommandFailed", `The link was not changed:\n${outcome.stderr.trim()}`);
  return outcome;
}
