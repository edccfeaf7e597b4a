import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { Event } from "../../src/api/core/event.ts";
import type { KubeObject, Kind } from "../../src/api/kind.ts";
import { L2VNI } from "../../src/api/openpe/l2vni.ts";
import { L3Passthrough } from "../../src/api/openpe/l3passthrough.ts";
import { RawFRRConfig } from "../../src/api/openpe/raw-frr-config.ts";
import { Underlay } from "../../src/api/openpe/underlay.ts";
import { StateFile } from "../../src/resilience/state-file.ts";
import { plumbline } from "../support/command-line.ts";
import { run } from "../support/frr.ts";
import { RouterNode } from "../support/router-node.ts";

// What needs no VRF, which this machine's kernel may lack; the lab has the rest.

const { signal } = new AbortController();
const NAMESPACE = "openperouter-system";
const eventually = <T>(check: () => Promise<T>) => vi.waitFor(check, { timeout: 60_000, interval: 50 });

let node: RouterNode;
beforeAll(async () => {
  node = await RouterNode.create();
  node.startAgent();
});
afterAll(() => node.remove());

const metadata = (name: string) => ({ name, namespace: NAMESPACE });
const create = <T extends KubeObject>(kind: Kind<T>, name: string, spec: object) =>
  node.client.resource(kind).create({ metadata: metadata(name), spec } as never, { signal });
const change = <T extends KubeObject>(kind: Kind<T>, name: string, spec: object) =>
  node.client.resource(kind).patch(metadata(name), { spec }, { signal });
const remove = <T extends KubeObject>(kind: Kind<T>, name: string) => node.client.resource(kind).delete(metadata(name), { signal });

/** `Ready=True ConfigurationSuccessful` */
const condition = async (type: string) => {
  const found = (await node.status()).status?.conditions?.find((one) => one.type === type);
  return `${found?.status} ${found?.reason}`;
};
const failed = async () =>
  ((await node.status()).status?.failedResources ?? []).map(({ kind, name, reason, message }) => `${kind}/${name} ${reason}: ${message}`);
const states = async () =>
  Object.fromEntries(((await node.status()).status?.resources ?? []).map(({ kind, name, state }) => [`${kind}/${name}`, state]));
const events = async () => (await node.client.resource(Event).list({ namespace: NAMESPACE, signal })).items.map(({ reason }) => reason);
const links = async (where: "host" | "router") =>
  (JSON.parse(await node[where]("-j", "link")) as { ifname: string }[]).map(({ ifname }) => ifname).filter((name) => name !== "lo");

const same = (content: unknown) => content as object;
const underlay = { asn: 64514, nics: ["eth1"], neighbors: [{ asn: 64512, address: "192.168.11.2" }] };
const passthrough = { hostsession: { asn: 64514, hostasn: 64515, localcidr: { ipv4: "192.169.20.0/24" } } };

test("a node without configuration is Ready, and its status is owned by the Node", async () => {
  await eventually(async () => expect(await condition("Ready")).toBe("True ConfigurationSuccessful"));
  expect(await condition("Degraded")).toBe("False ConfigurationSuccessful");
  const { metadata: of } = await node.status();
  expect(of.ownerReferences).toEqual([{ apiVersion: "v1", kind: "Node", name: "n1", uid: expect.any(String) as string }]);
});

test("an Underlay, a passthrough and raw lines are applied to the kernel and FRR", async () => {
  await create(Underlay, "fabric", underlay);
  await create(L3Passthrough, "pt", passthrough);
  await create(RawFRRConfig, "raw", { rawConfig: "ip prefix-list mine seq 5 permit 198.51.100.0/24" });
  await eventually(async () =>
    expect(await states()).toEqual({ "Underlay/fabric": "Applied", "L3Passthrough/pt": "Applied", "RawFRRConfig/raw": "Applied" }),
  );
  expect(await condition("Ready")).toBe("True ConfigurationSuccessful");
  expect(await links("router")).toEqual(expect.arrayContaining(["eth1", "pt-ns"]));
  expect(await node.router("addr", "show", "dev", "eth1")).toContain("192.168.11.3/24");
  expect(await links("host")).toEqual(["pt-host"]);
  const running = await node.vtysh("show running-config");
  expect(running).toContain("router bgp 64514");
  expect(running).toContain("neighbor 192.168.11.2 remote-as 64512");
  expect(running).toContain("ip prefix-list mine seq 5 permit 198.51.100.0/24");
});

test("sessions are in the status, and the condition names those that are down", async () => {
  await eventually(async () => {
    const { sessions = [] } = (await node.status()).status ?? {};
    expect(sessions.map(({ neighbor }) => neighbor)).toEqual(expect.arrayContaining(["192.168.11.2"]));
    expect(await condition("SessionsEstablished")).toBe("False SessionsDown");
  });
});

test("the boot file has the live configuration and is readable by its owner only", async () => {
  expect(await readFile(join(node.hostOptions.stateDirectory, "frr.conf"), "utf8")).toContain("neighbor 192.168.11.2 remote-as 64512");
});

const version = async () => (await node.status()).metadata.resourceVersion;
/** That of a status to which nothing has been added for a while. */
async function stableVersion(): Promise<string | undefined> {
  let [before, now] = [undefined as string | undefined, await version()];
  while (now !== before) {
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    [before, now] = [now, await version()];
  }
  return now;
}

test("passes without steps write nothing to FRR, the kernel or the API", async () => {
  const resourceVersion = await stableVersion();
  const state = await readFile(join(node.hostOptions.stateDirectory, "router.json"), "utf8");
  const index = await node.router("-j", "link", "show", "dev", "pt-ns");
  // A label that no selector uses wakes the agent.
  for (const nth of ["1", "2", "3"]) {
    await node.client.resource(Underlay).patch(metadata("fabric"), { metadata: { labels: { nth } } }, { signal });
    await new Promise((resolve) => setTimeout(resolve, 300));
  }
  expect(await version()).toBe(resourceVersion);
  expect(await readFile(join(node.hostOptions.stateDirectory, "router.json"), "utf8")).toBe(state);
  expect(JSON.parse(await node.router("-j", "link", "show", "dev", "pt-ns"))[0].ifindex).toBe(JSON.parse(index)[0].ifindex);
});

describe("failures", () => {
  test("lines that FRR does not know fail their own resource with FRR's message", async () => {
    await create(RawFRRConfig, "bad", { rawConfig: "this is not for FRR" });
    await eventually(async () => expect((await failed())[0]).toMatch(/^RawFRRConfig\/bad ApplicationFailed: .*this is not for FRR/));
    expect(await states()).toMatchObject({
      "Underlay/fabric": "Applied",
      "L3Passthrough/pt": "Applied",
      "RawFRRConfig/raw": "Applied",
      "RawFRRConfig/bad": "Failed",
    });
    expect(await condition("Degraded")).toBe("True ConfigurationFailed");
    await eventually(async () => expect(await events()).toContain("ApplicationFailed"));
    await remove(RawFRRConfig, "bad");
    await eventually(async () => expect(await condition("Ready")).toBe("True ConfigurationSuccessful"));
  });

  test("a VNI on an Underlay without EVPN fails with DependencyFailed", async () => {
    await create(L2VNI, "red", { vni: 100 });
    await eventually(async () => expect((await failed())[0]).toMatch(/^L2VNI\/red DependencyFailed: /));
    await remove(L2VNI, "red");
    await eventually(async () => expect(await failed()).toEqual([]));
  });

  test("an Underlay that the kernel rejects changes nothing", async () => {
    // A foreign link has the name of the VTEP's device.
    await node.router("link", "add", "lound", "type", "bridge");
    await change(Underlay, "fabric", { evpn: { vtepcidr: "100.65.0.0/24" } });
    await eventually(async () => expect((await failed())[0]).toMatch(/^Underlay\/fabric ApplicationFailed: lound: /));
    expect(await condition("Ready")).toBe("False UnderlayFailed");
    expect(await states()).toMatchObject({ "Underlay/fabric": "KeptPrevious", "L3Passthrough/pt": "Applied" });
    expect(await node.vtysh("show running-config")).not.toContain("advertise-all-vni");
    expect(await links("router")).toEqual(expect.arrayContaining(["eth1", "pt-ns", "lound"]));
    await change(Underlay, "fabric", { evpn: null });
    await eventually(async () => expect(await condition("Ready")).toBe("True ConfigurationSuccessful"));
    await node.router("link", "del", "lound");
  });

  test("an Underlay with a missing interface makes all others wait", async () => {
    await change(Underlay, "fabric", { nics: ["eth7"] });
    await eventually(async () => expect(await failed()).toEqual(["Underlay/fabric ValidationFailed: Interface eth7 not present on node"]));
    expect(await condition("Ready")).toBe("False UnderlayFailed");
    await remove(L3Passthrough, "pt");
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    expect(await links("router")).toContain("pt-ns");
    await change(Underlay, "fabric", { nics: ["eth1"] });
    await eventually(async () => expect(await links("router")).not.toContain("pt-ns"));
    await create(L3Passthrough, "pt", passthrough);
    // The status may still be that of the one before.
    await eventually(async () => expect(await links("router")).toContain("pt-ns"));
    await eventually(async () => expect(await states()).toMatchObject({ "L3Passthrough/pt": "Applied" }));
  });
});

describe("drift", () => {
  test("restores a deleted link and records an Event", async () => {
    await node.router("link", "del", "pt-ns");
    await eventually(async () => expect(await links("host")).toContain("pt-host"));
    await eventually(async () => expect(await events()).toContain("DriftRepaired"));
  });

  test("restores a flushed address and records an Event", async () => {
    const repairs = async () => {
      const { items } = await node.client.resource(Event).list({ namespace: NAMESPACE, signal });
      return items.filter(({ reason }) => reason === "DriftRepaired").reduce((sum, { count = 1 }) => sum + count, 0);
    };
    const before = await repairs();
    await node.router("addr", "flush", "dev", "pt-ns", "scope", "global");
    await eventually(async () => expect(await node.router("addr", "show", "dev", "pt-ns")).toContain("192.169.20.1/24"));
    await eventually(async () => expect(await repairs()).toBeGreaterThan(before));
  });

  test("killed daemons are restarted with their configuration", async () => {
    for (const daemon of ["bgpd", "zebra"]) {
      process.kill(Number(await readFile(join(node.hostOptions.frrRunDirectory, `${daemon}.pid`), "utf8")), "SIGKILL");
      await eventually(async () => expect(await node.vtysh("show running-config")).toContain("neighbor 192.168.11.2 remote-as 64512"));
    }
    await eventually(async () => expect(await condition("Ready")).toBe("True ConfigurationSuccessful"));
    await eventually(async () => expect(await events()).toContain("FRRRestarted"));
  });

  test("removes lines that are typed into vtysh", async () => {
    await node.vtysh("configure terminal", "router bgp 64514", "neighbor 203.0.113.9 remote-as 64999");
    // Nothing tells us of them: the next pass finds them.
    await node.client.resource(Underlay).patch(metadata("fabric"), { metadata: { labels: { nth: "4" } } }, { signal });
    await eventually(async () => expect(await node.vtysh("show running-config")).not.toContain("203.0.113.9"));
  });
});

test("the next agent adopts the running router without changes", async () => {
  const { router } = node.frr;
  const before = { bgpd: await router.identity("bgpd"), link: await node.router("-j", "link", "show", "dev", "pt-ns") };
  await node.stopAgent();
  expect(await links("router")).toEqual(expect.arrayContaining(["eth1", "pt-ns"]));
  node.startAgent();
  await create(RawFRRConfig, "after", { rawConfig: "ip prefix-list later seq 5 permit 198.51.100.0/24" });
  await eventually(async () => expect(await states()).toMatchObject({ "RawFRRConfig/after": "Applied", "L3Passthrough/pt": "Applied" }));
  expect({ bgpd: await router.identity("bgpd"), link: await node.router("-j", "link", "show", "dev", "pt-ns") }).toEqual(before);
});

test("restores the addresses of a flushed interface, also after an agent restart", async () => {
  await node.router("addr", "flush", "dev", "eth1", "scope", "global");
  await eventually(async () => expect(await node.router("addr", "show", "dev", "eth1")).toContain("192.168.11.3/24"));
  await node.stopAgent();
  await node.router("addr", "flush", "dev", "eth1", "scope", "global");
  node.startAgent();
  await eventually(async () => expect(await node.router("addr", "show", "dev", "eth1")).toContain("192.168.11.3/24"));
});

test("uses the previous state file if one is damaged, and adopts the running state if both are", async () => {
  const links = await node.router("-j", "link", "show", "dev", "pt-ns");
  const damaged = async (...files: string[]) => {
    await node.stopAgent();
    for (const file of files) await writeFile(join(node.hostOptions.stateDirectory, file), "{");
    node.startAgent();
  };
  await damaged("router.json");
  await eventually(async () => expect(await events()).toContain("StateRecovered"));
  await damaged("router.json", "router.json.previous");
  await eventually(async () => expect(await events()).toContain("StateLost"));
  await eventually(async () => expect(await condition("Ready")).toBe("True ConfigurationSuccessful"));
  expect(await node.router("-j", "link", "show", "dev", "pt-ns")).toEqual(links);
});

test("an older agent keeps the state file of a newer one and adopts the running state", async () => {
  const links = await node.router("-j", "link", "show", "dev", "pt-ns");
  await node.stopAgent();
  const { stateDirectory } = node.hostOptions;
  const path = join(stateDirectory, "router.json");
  const { router } = JSON.parse(await readFile(path, "utf8")) as { router: object };
  const newer = new StateFile<object>(stateDirectory, "router", { versions: [same, same], keepsPrevious: true });
  await newer.save({ ...router, unknown: true });
  const written = await readFile(path, "utf8");
  node.startAgent();
  await eventually(async () => expect(await readFile(`${path}.version-2`, "utf8")).toBe(written));
  await eventually(async () => expect(JSON.parse(await readFile(path, "utf8"))).toMatchObject({ version: 1, router }));
  expect(await node.router("-j", "link", "show", "dev", "pt-ns")).toEqual(links);
});

test("restores the last good router after a reboot without the API server", async () => {
  await node.stopAgent();
  await node.frr.stop();
  await run("ip", "netns", "del", node.hostOptions.routerNetns);
  await eventually(() => node.plugIn());
  node.startAgent({}, { away: true });
  await eventually(async () => {
    expect(await links("router")).toEqual(expect.arrayContaining(["eth1", "pt-ns"]));
    expect(await node.vtysh("show running-config")).toContain("neighbor 192.168.11.2 remote-as 64512");
  });
  await node.stopAgent();
  node.startAgent();
  await eventually(async () => expect(await condition("Ready")).toBe("True ConfigurationSuccessful"));
});

describe("while the Underlay is invalid", () => {
  const fabric = "neighbor 192.168.11.2 remote-as 64512";

  test("drift of the last good router is repaired, and nothing else is changed", async () => {
    await change(Underlay, "fabric", { nics: ["eth7"] });
    await eventually(async () => expect(await condition("Ready")).toBe("False UnderlayFailed"));
    await node.vtysh("configure terminal", "ip prefix-list person seq 5 permit any", "router bgp 64514", "no neighbor 192.168.11.2");
    await node.router("link", "del", "pt-ns");
    await eventually(async () => {
      expect(await links("host")).toContain("pt-host");
      expect(await node.vtysh("show running-config")).toContain(fabric);
      expect(await states()).toMatchObject({ "Underlay/fabric": "KeptPrevious", "L3Passthrough/pt": "Applied" });
    });
    expect(await node.vtysh("show running-config")).toContain("ip prefix-list person");
  });

  test("restores the last good router after a reboot", async () => {
    await node.stopAgent();
    await node.frr.stop();
    await rm(join(node.hostOptions.stateDirectory, "frr.conf"));
    await run("ip", "netns", "del", node.hostOptions.routerNetns);
    await eventually(() => node.plugIn());
    node.startAgent();
    await eventually(async () => {
      expect(await links("router")).toEqual(expect.arrayContaining(["eth1", "pt-ns"]));
      expect(await node.vtysh("show running-config")).toContain(fabric);
      expect(await states()).toMatchObject({ "Underlay/fabric": "KeptPrevious", "L3Passthrough/pt": "Applied" });
    });
    expect(await failed()).toEqual(["Underlay/fabric ValidationFailed: Interface eth7 not present on node"]);
    await change(Underlay, "fabric", { nics: ["eth1"] });
    await eventually(async () => expect(await condition("Ready")).toBe("True ConfigurationSuccessful"));
  });
});

describe("an unavailable router", () => {
  test("because its directory cannot be written reports it, and recovers", async () => {
    const inTheWay = join(node.hostOptions.stateDirectory, "frr.candidate.conf.new", "x");
    await mkdir(inTheWay, { recursive: true });
    await create(RawFRRConfig, "late", { rawConfig: "ip prefix-list late seq 5 permit 198.51.100.0/24" });
    await eventually(async () => expect(await condition("Ready")).toBe("False RouterUnavailable"));
    expect((await node.status()).status?.conditions?.[0]?.message).toContain("frr.candidate.conf cannot be written: EISDIR");
    await rm(join(node.hostOptions.stateDirectory, "frr.candidate.conf.new"), { recursive: true });
    await eventually(async () => expect(await states()).toMatchObject({ "RawFRRConfig/late": "Applied" }));
  });

  test("because the disk is full reports it without losing state", async () => {
    const { stateDirectory } = node.hostOptions;
    await node.stopAgent();
    const aside = await mkdtemp(join(tmpdir(), "plumbline-aside-"));
    await run("cp", "-a", `${stateDirectory}/.`, aside);
    await run("mount", "-t", "tmpfs", "-o", "size=256k", "plumbline", stateDirectory);
    try {
      await run("sh", "-c", `cp -a "$1/." "$2"; dd if=/dev/zero of="$2/filler" bs=4k 2>&1 || true`, "sh", aside, stateDirectory);
      node.startAgent();
      await create(RawFRRConfig, "full", { rawConfig: "ip prefix-list full seq 5 permit 198.51.100.0/24" });
      await eventually(async () => expect(await condition("Ready")).toBe("False RouterUnavailable"));
      expect((await node.status()).status?.conditions?.[0]?.message).toContain("ENOSPC: no space left on device");
      expect(await links("router")).toEqual(expect.arrayContaining(["eth1", "pt-ns"]));
      await rm(join(stateDirectory, "filler"));
      await eventually(async () => expect(await states()).toMatchObject({ "RawFRRConfig/full": "Applied", "L3Passthrough/pt": "Applied" }));
      await node.stopAgent();
      await run("cp", "-a", `${stateDirectory}/.`, aside);
    } finally {
      await node.stopAgent();
      await run("umount", "-l", stateDirectory);
      await run("cp", "-a", `${aside}/.`, stateDirectory);
      await rm(aside, { recursive: true });
      node.startAgent();
    }
  });

  test("because its namespace cannot be entered reports it", async () => {
    const { routerNetns, frrRunDirectory } = node.hostOptions;
    await eventually(async () => expect(await condition("Ready")).toBe("True ConfigurationSuccessful"));
    const zebra = Number(await readFile(join(frrRunDirectory, "zebra.pid"), "utf8"));
    await run("umount", "-l", `/run/netns/${routerNetns}`);
    await node.client.resource(Underlay).patch(metadata("fabric"), { metadata: { labels: { nth: "5" } } }, { signal });
    await eventually(async () => expect(await condition("Ready")).toBe("False RouterUnavailable"));
    expect((await node.status()).status?.conditions?.[0]?.message).toContain("setting the network namespace");
    await run("mount", "--bind", `/proc/${zebra}/ns/net`, `/run/netns/${routerNetns}`);
    await eventually(async () => expect(await condition("Ready")).toBe("True ConfigurationSuccessful"));
  });

  test("because its namespace was deleted is recreated, with FRR in it", async () => {
    await run("ip", "netns", "del", node.hostOptions.routerNetns);
    await node.client.resource(Underlay).patch(metadata("fabric"), { metadata: { labels: { nth: "6" } } }, { signal });
    // A veth dies with its namespace; hardware would be back on the host.
    await eventually(async () => expect(await failed()).toEqual(["Underlay/fabric ValidationFailed: Interface eth1 not present on node"]));
    await eventually(() => node.plugIn());
    await eventually(async () => {
      expect(await condition("Ready")).toBe("True ConfigurationSuccessful");
      expect(await node.vtysh("show interface eth1")).toContain("192.168.11.3/24");
    });
  });

  test("because FRR is not installed reports it", async () => {
    await node.stopAgent();
    const frrRoot = await mkdtemp(join(tmpdir(), "plumbline-no-frr-"));
    node.startAgent({ frrRoot });
    await eventually(async () => expect(await condition("Ready")).toBe("False RouterUnavailable"));
    expect((await node.status()).status?.conditions?.[0]?.message).toContain("FRR is not installed");
    expect(await states()).toEqual({});
    await node.stopAgent();
    await rm(frrRoot, { recursive: true });
    node.startAgent();
    await eventually(async () => expect(await condition("Ready")).toBe("True ConfigurationSuccessful"));
  });
});

const routerFlags = () => {
  const { routerNetns, hostNetns, stateDirectory, frrRunDirectory } = node.hostOptions;
  const namespaces = ["--router-netns", routerNetns, "--host-netns", hostNetns];
  return [...namespaces, "--state-directory", stateDirectory, "--frr-run-directory", frrRunDirectory];
};

const diff = () => plumbline(["diff", "--dir", join(node.directory, "site"), "--node", "n1", ...routerFlags()]);

describe("from the command line", () => {
  test("diff is empty while the agent runs, and lists the steps while it is stopped", async () => {
    expect(await diff()).toEqual({ code: 0, stdout: "No differences.\n", stderr: "" });
    await node.stopAgent();
    await remove(L3Passthrough, "pt");
    await node.host("link", "set", "pt-host", "down");
    const { code, stdout } = await diff();
    expect(code).toBe(1);
    expect(stdout).toContain("link del dev pt-host");
    expect(stdout).toMatch(/- router bgp 64514 \/ .*no neighbor 192\.169\.20\./);
  });

  test("router clean lists its steps, and then leaves nothing", async () => {
    const dry = await plumbline(["router", "clean", ...routerFlags()]);
    expect(dry.stdout).toContain("Move interface eth1 back to the host");
    expect(await links("router")).toContain("eth1");
    const done = await plumbline(["router", "clean", "--yes", ...routerFlags()]);
    expect(done).toMatchObject({ code: 0, stderr: "" });
    expect(await links("host")).toEqual(["eth1"]);
    expect(await node.host("addr", "show", "dev", "eth1")).toContain("192.168.11.3/24");
    expect(await plumbline(["router", "clean", ...routerFlags()])).toMatchObject({
      stdout: "Nothing to remove: the router left nothing on this machine.\n",
    });
  });
});
