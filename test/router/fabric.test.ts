import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { L3Passthrough } from "../../src/api/openpe/l3passthrough.ts";
import { Underlay } from "../../src/api/openpe/underlay.ts";
import { frrInNamespace, type FrrInNamespace, run } from "../support/frr.ts";
import { RouterNode } from "../support/router-node.ts";

// A node between two switches of different ASes, with manifests of OpenPERouter v0.2 and no address on any link.

const { signal } = new AbortController();
const where = { name: "fabric", namespace: "openperouter-system" };
const eventually = <T>(check: () => Promise<T>) => vi.waitFor(check, { timeout: 120_000, interval: 100 });

let node: RouterNode;
let directory: string;
const switches: FrrInNamespace[] = [];

/** Announces one prefix over a link without addresses. */
const configuration = (asn: number) => `
router bgp ${asn}
 bgp router-id 10.9.9.${asn - 64_500}
 no bgp ebgp-requires-policy
 no bgp network import-check
 neighbor node interface remote-as external
 address-family ipv4 unicast
  network 198.51.100.0/24
 exit-address-family
`;

beforeAll(async () => {
  node = await RouterNode.create();
  directory = await mkdtemp(join(tmpdir(), "plumbline-switches-"));
  for (const [asn, nic] of [
    [64_512, "eth2"],
    [64_513, "eth3"],
  ] as const) {
    const stateDirectory = join(directory, String(asn));
    await mkdir(stateDirectory);
    await writeFile(join(stateDirectory, "frr.conf"), configuration(asn));
    const one = await frrInNamespace({ version: "8.4", stateDirectory });
    switches.push(one);
    await plug(nic, one);
  }
  node.startAgent();
}, 300_000);
afterAll(async () => {
  await node.remove();
  for (const one of switches) await one.stop();
  await rm(directory, { recursive: true, force: true });
});

const sessions = async () =>
  ((await node.status()).status?.sessions ?? []).map(({ neighbor, state, since }) => ({ neighbor, state, since }));
const nextHops = async () => {
  const [route] = JSON.parse(await node.router("-j", "route", "show", "198.51.100.0/24")) as {
    nexthops?: { dev: string }[];
    dev: string;
  }[];
  return (route?.nexthops ?? (route ? [route] : [])).map(({ dev }) => dev).sort((a, b) => a.localeCompare(b));
};
const device = (interfaceName: string) => ({ type: "NetworkDevice" as const, networkDevice: { interfaceName } });

test("an Underlay of v0.2 uses two unnumbered switches in parallel", async () => {
  await node.client.resource(Underlay).create(
    {
      metadata: where,
      spec: {
        asn: 64_514,
        interfaces: [device("eth2"), device("eth3")],
        neighbors: [
          { type: "external", interface: "eth2", holdTimeSeconds: 9, keepaliveTimeSeconds: 3, connectTimeSeconds: 1 },
          { asn: 64_513, interface: "eth3", holdTimeSeconds: 9, keepaliveTimeSeconds: 3, connectTimeSeconds: 1 },
        ],
      },
    } as never,
    { signal },
  );
  await eventually(async () =>
    expect((await sessions()).map(({ neighbor, state }) => `${neighbor} ${state}`)).toEqual(["eth2 Established", "eth3 Established"]),
  );
  await eventually(async () => expect(await nextHops()).toEqual(["eth2", "eth3"]));
  const { resources = [], conditions = [] } = (await node.status()).status ?? {};
  expect(resources).toEqual([{ kind: "Underlay", name: "fabric", generation: 1, state: "Applied", api: "v0.2" }]);
  expect(conditions.find(({ type }) => type === "SessionsEstablished")?.status).toBe("True");
});

test("the same Underlay in v0.1 changes nothing: no session is reset", async () => {
  const before = await sessions();
  await node.client.resource(Underlay).patch(
    where,
    {
      spec: {
        interfaces: null,
        nics: ["eth2", "eth3"],
        neighbors: [
          { type: "external", interface: "eth2", holdTime: "9s", keepaliveTime: "3s", connectTime: "1s" },
          { asn: 64_513, interface: "eth3", holdTime: "9s", keepaliveTime: "3s", connectTime: "1s" },
        ],
      },
    },
    { signal },
  );
  await eventually(async () => expect((await node.status()).status?.resources?.[0]).toMatchObject({ generation: 2, state: "Applied" }));
  expect(await sessions()).toEqual(before);
  expect(await nextHops()).toEqual(["eth2", "eth3"]);
});

test("a lost switch ends only its own session, and its link is reported", async () => {
  await run("ip", "-n", switches[1]?.netns ?? "", "link", "set", "node", "down");
  await eventually(async () => expect(await nextHops()).toEqual(["eth2"]));
  await eventually(async () => {
    const { links = [], sessions: found = [] } = (await node.status()).status ?? {};
    expect(links.map(({ name, state }) => `${name} ${state}`)).toEqual(["eth2 Up", "eth3 NoCarrier"]);
    expect(found.find(({ neighbor }) => neighbor === "eth2")?.state).toBe("Established");
    expect(found.find(({ neighbor }) => neighbor === "eth3")?.state).not.toBe("Established");
  });
  await run("ip", "-n", switches[1]?.netns ?? "", "link", "set", "node", "up");
  await eventually(async () => expect(await nextHops()).toEqual(["eth2", "eth3"]));
});

const failures = async () =>
  ((await node.status()).status?.failedResources ?? []).map(({ name, field, message }) => `${name} ${field}: ${message}`);
const readyReason = async () => (await node.status()).status?.conditions?.find(({ type }) => type === "Ready")?.reason;
const plug = async (nic: string, one: FrrInNamespace | undefined) => {
  const netns = one?.netns ?? "";
  await node.host("link", "add", nic, "type", "veth", "peer", "name", "node", "netns", netns);
  await node.host("link", "set", nic, "up");
  await run("ip", "-n", netns, "link", "set", "node", "up");
};

test("a lost interface ends only its own session, and changes go on over the other one", async () => {
  const before = await sessions();
  await node.router("link", "del", "eth3");
  await eventually(async () =>
    expect(await failures()).toEqual([
      "fabric spec.nics[1]: Interface eth3 not present on node; the other interfaces of Underlay fabric are in use. Restore it, or remove it from the Underlay",
    ]),
  );
  expect(await readyReason()).toBe("ConfigurationFailed");
  const hostsession = { asn: 64_514, hostasn: 64_515, localcidr: { ipv4: "192.169.10.0/24" } };
  await node.client.resource(L3Passthrough).create({ metadata: { ...where, name: "host" }, spec: { hostsession } }, { signal });
  await eventually(async () => {
    const { resources = [], links = [] } = (await node.status()).status ?? {};
    expect(resources.find(({ name }) => name === "host")?.state).toBe("Applied");
    expect(links.map(({ name, state }) => `${name} ${state}`)).toEqual(["eth2 Up", "eth3 Missing"]);
  });
  expect((await sessions()).find(({ neighbor }) => neighbor === "eth2")).toEqual(before.find(({ neighbor }) => neighbor === "eth2"));
  expect(await nextHops()).toEqual(["eth2"]);
});

test("an interface that comes back is used again", async () => {
  await plug("eth3", switches[1]);
  await eventually(async () => expect(await nextHops()).toEqual(["eth2", "eth3"]));
  expect(await failures()).toEqual([]);
});

test("without its last interface the Underlay fails, and the rest stays as it was", async () => {
  await node.router("link", "del", "eth2");
  await node.router("link", "del", "eth3");
  await eventually(async () => expect(await readyReason()).toBe("UnderlayFailed"));
  expect(await failures()).toEqual([
    "fabric spec.nics[0]: Interface eth2 not present on node",
    "fabric spec.nics[1]: Interface eth3 not present on node",
  ]);
  expect(await node.router("-br", "link", "show", "pt-ns")).toContain("pt-ns");
});
