import { beforeAll, expect, test } from "vitest";
import { ACCESS_LINK } from "../../../lab/net/topology.ts";
import { Secret } from "../../../src/api/core/secret.ts";
import { BGPPeer } from "../../../src/api/metallb/bgp-peer.ts";
import { BGPSessionStatus } from "../../../src/api/metallb/bgp-session-status.ts";
import { ConfigurationState } from "../../../src/api/metallb/configuration-state.ts";
import { IPAddressPool } from "../../../src/api/metallb/ip-address-pool.ts";
import { ServiceBGPStatus } from "../../../src/api/metallb/service-bgp-status.ts";
import { ServiceL2Status } from "../../../src/api/metallb/service-l2-status.ts";
import { METALLB_NAMESPACE } from "../../../lab/cli/api.ts";
import type { ServiceLab } from "../../support/service-lab.ts";
import { NODES } from "../../support/nodes.ts";

const VALID = ["controller Valid", ...NODES.map((node) => `speaker-${node} Valid`)];

/** Announcing Services, and the reported state of the configuration. */
export function announcingTests(lab: () => ServiceLab): void {
  beforeAll(async () => {
    await lab().whole();
    lab().connectTo("web", "wiki");
    lab().addressHistory.ask(lab().address("wiki"));
  });

  const states = () => lab().configurationStates();

  test("a Service of a routed pool is announced by every node, the ToR balances over them, and pods of all nodes answer", async () => {
    await lab().eventually("the tor has a way over every node", async () => (await lab().towards(lab().address("web"))).length === 3);
    const answered = () => new Set(lab().attempts.flatMap(({ name, by }) => (name === "default/web" && by !== undefined ? [by] : [])));
    await lab().eventually("three pods answer", () => answered().size === 3);
    expect(lab().address("web")).toMatch(/^10\.200\.0\./);
  });

  test("a layer 2 Service is on one node, which answers ARP and whose pod answers the client", async () => {
    const { l2 = "" } = lab().service("wiki");
    const address = lab().address("wiki");
    expect(lab().addressHistory.holders(address)).toEqual([l2]);
    const link = JSON.parse(await lab().host(l2).do(["ip", "-j", "link", "show", ACCESS_LINK])) as [{ address: string }];
    const arping = await lab().host("client").do(["arping", "-f", "-w", "5", "-I", ACCESS_LINK, address]);
    expect(arping.toLowerCase()).toContain(`[${link[0].address}]`);
    await lab().eventually("the client is answered", () =>
      lab().attempts.some(({ name, by }) => name === "default/wiki" && by !== undefined),
    );
    const { items } = await lab().lab.api.client.resource(ServiceL2Status).list({ namespace: "default", signal: lab().signal });
    expect(items.map(({ metadata, status }) => [metadata.name, status?.node, status?.interfaces])).toEqual([
      ["wiki", l2, [{ name: ACCESS_LINK }]],
    ]);
  });

  test("the node's own services are not reachable on the address", async () => {
    const { l2 = "" } = lab().service("wiki");
    // Of the agent itself, on all addresses of the node.
    const curl = ["curl", "-s", "-m", "2", "-o", "/dev/null"];
    expect(
      (
        await lab()
          .host(l2)
          .run([...curl, "http://127.0.0.1:8081/livez"])
      ).code,
    ).toBe(0);
    expect(
      (
        await lab()
          .host("client")
          .run([...curl, `http://${lab().address("wiki")}:8081/livez`])
      ).code,
    ).not.toBe(0);
    expect(
      (
        await lab()
          .host("client")
          .run(["ping", "-c1", "-W2", lab().address("wiki")])
      ).code,
    ).toBe(0);
  });

  test("the controller and every speaker report a valid configuration, with the documented labels", async () => {
    await expect.poll(states, { timeout: 60_000 }).toEqual(VALID);
    const { items } = await lab().lab.api.client.resource(ConfigurationState).list({ namespace: METALLB_NAMESPACE, signal: lab().signal });
    expect(items.map(({ metadata }) => metadata.labels).toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1))).toEqual([
      { "metallb.io/component-type": "controller" },
      ...NODES.map((node) => ({ "metallb.io/component-type": "speaker", "metallb.io/node-name": node })),
    ]);
  });

  test("sessions, services and pools are reported per node and per service", async () => {
    const client = lab().lab.api.client;
    const sessions = async () =>
      (await client.resource(BGPSessionStatus).list({ signal: lab().signal })).items
        .map(({ metadata, status }) => `${metadata.name} ${status?.bgpStatus} ${status?.bfdStatus}`)
        .toSorted();
    await expect.poll(sessions, { timeout: 60_000 }).toEqual(NODES.map((node) => `${node}-tor Established Up`));
    const { items } = await client.resource(ServiceBGPStatus).list({ namespace: "default", signal: lab().signal });
    expect(items.map(({ metadata, status }) => `${metadata.name} ${status?.bgpPeers?.join(" ")}`).toSorted()).toEqual(
      NODES.map((node) => `web-${node} tor`),
    );
    const pool = await client.resource(IPAddressPool).get("segment", { namespace: METALLB_NAMESPACE, signal: lab().signal });
    expect(pool.status).toMatchObject({ assignedIPV4: 1, availableIPV4: 3, services: 1 });
  });

  test("an invalid peer of one node makes its speaker Invalid with the documented message, and breaks no connection", async () => {
    const began = Date.now();
    await lab().apply(`
apiVersion: v1
kind: Secret
metadata: { name: secret, namespace: metallb-system }
type: Opaque
stringData: { password: x }
---
apiVersion: metallb.io/v1beta2
kind: BGPPeer
metadata: { name: pinned, namespace: metallb-system }
spec:
  myASN: 64515
  peerASN: 64512
  peerAddress: 192.168.11.99
  passwordSecret: { name: secret }
  nodeSelectors: [{ matchLabels: { kubernetes.io/hostname: node1 } }]
`);
    await expect
      .poll(states, { timeout: 60_000 })
      .toEqual([
        "controller Valid",
        expect.stringMatching(
          /^speaker-node1 Invalid: parsing peer pinned secret type mismatch on "metallb-system"\/"secret", type "kubernetes.io\/basic-auth" is expected/,
        ),
        "speaker-node2 Valid",
        "speaker-node3 Valid",
      ]);
    await lab().delete(Secret, "secret");
    await lab().apply(`
apiVersion: v1
kind: Secret
metadata: { name: secret, namespace: metallb-system }
type: kubernetes.io/basic-auth
stringData: { username: x, password: x }
`);
    await expect.poll(states, { timeout: 60_000 }).toEqual(VALID);
    await lab().delete(BGPPeer, "pinned");
    await lab().delete(Secret, "secret");
    expect((await lab().since(began, "web", "wiki")).failed).toEqual([]);
  });

  test("an advertisement that excludes a node withdraws its route and status without losing a connection", async () => {
    const began = Date.now();
    await lab().apply(`
apiVersion: metallb.io/v1beta1
kind: BGPAdvertisement
metadata: { name: fabric, namespace: metallb-system }
spec:
  ipAddressPools: [fabric]
  nodeSelectors: [{ matchLabels: { rack: b } }]
`);
    await lab().eventually("node1 no longer announces", () => lab().service("web").bgp.join(" ") === "node2 node3");
    await lab().eventually("the tor knows", async () => (await lab().towards(lab().address("web"))).join(" ") === "node2 node3");
    await lab().apply(`
apiVersion: metallb.io/v1beta1
kind: BGPAdvertisement
metadata: { name: fabric, namespace: metallb-system }
spec:
  ipAddressPools: [fabric]
`);
    await lab().eventually("all announce again", async () => (await lab().towards(lab().address("web"))).length === 3);
    expect((await lab().since(began, "web")).failed).toEqual([]);
  });

  test("a session that the ToR resets affects no other", async () => {
    const client = lab().lab.api.client;
    const since = async () =>
      new Map(
        (await client.resource(BGPSessionStatus).list({ signal: lab().signal })).items.map(({ metadata, status }) => [
          metadata.name,
          status?.since,
        ]),
      );
    const before = await since();
    const began = Date.now();
    await lab().host("tor").do(["vtysh", "-c", "clear bgp 192.168.11.12"]);
    await lab().eventually("the session of node2 is a new one", async () => {
      const now = await since();
      return now.get("node2-tor") !== before.get("node2-tor") && (await lab().towards(lab().address("web"))).length === 3;
    });
    const after = await since();
    for (const node of ["node1", "node3"]) expect(after.get(`${node}-tor`)).toBe(before.get(`${node}-tor`));
    expect((await lab().since(began, "wiki")).failed).toEqual([]);
  });
}
