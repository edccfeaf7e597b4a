import { KernelError } from "./error.ts";
import { OVS_KEY } from "./ovs-plan.ts";
import { run } from "./run.ts";
import type { OvsBridge } from "./snapshot.ts";

/** Long enough for a busy ovs-vswitchd to apply a change, which `ovs-vsctl` waits for. */
const WAIT_SECONDS = 10;

/** Whether Open vSwitch answers on this machine. */
export async function ovsAnswers(signal: AbortSignal): Promise<boolean> {
  return run("ovs-vsctl", ["--timeout=2", "--no-wait", "show"], { signal }).then(
    () => true,
    (error: unknown) => {
      if (error instanceof KernelError) return false;
      throw error;
    },
  );
}

export async function readOvs(signal: AbortSignal): Promise<OvsBridge[]> {
  const bridges = rows(await ovsVsctl(["--format=json", "--columns=name,ports,external_ids", "list", "Bridge"], { signal }));
  const ports = rows(await ovsVsctl(["--format=json", "--columns=_uuid,name", "list", "Port"], { signal }));
  const names = new Map(ports.map(([uuid, name]) => [uuids(uuid)[0], String(name)]));
  return bridges.map(([name, attached, ids]) => ({
    name: String(name),
    owner: (ids as [string, [string, string][]])[1].find(([key]) => key === OVS_KEY)?.[1],
    ports: uuids(attached).flatMap((uuid) => names.get(uuid) ?? []),
  }));
}

/** Every error is a rejection of one resource: the rest of the node works without Open vSwitch. */
export async function ovsVsctl(args: readonly string[], { signal, link }: { signal: AbortSignal; link?: string }): Promise<string> {
  const limits = { signal, ...(link !== undefined && { link }), deadlineMs: 2 * WAIT_SECONDS * 1000 };
  try {
    const { stdout, stderr } = await run("ovs-vsctl", [`--timeout=${WAIT_SECONDS}`, ...args], limits);
    const [, text] = /^ovs-vsctl: (Error detected while .*)$/m.exec(stderr) ?? [];
    if (text === undefined) return stdout;
    throw new KernelError("Rejected", text, { command: ["ovs-vsctl", ...args].join(" "), namespace: "", link });
  } catch (error) {
    if (!(error instanceof KernelError)) throw error;
    throw new KernelError("Rejected", describeError(error), error, { cause: error });
  }
}

function describeError({ code, text }: KernelError): string {
  if (text.includes("Alarm clock"))
    return `Open vSwitch is not running on this node: ovs-vswitchd did not apply the change within ${WAIT_SECONDS} s`;
  const absent = code === "Unreachable" || text.includes("database connection failed");
  return absent ? `Open vSwitch is not running on this node: ${text}` : text;
}

function rows(text: string): unknown[][] {
  return (JSON.parse(text) as { data: unknown[][] }).data;
}

/** `["uuid", u]` for one, `["set", [["uuid", u], ...]]` otherwise. */
function uuids(value: unknown): string[] {
  const [kind, uuid] = value as ["uuid", string] | ["set", ["uuid", string][]];
  return kind === "uuid" ? [uuid] : uuid.map(([, each]) => each);
}
