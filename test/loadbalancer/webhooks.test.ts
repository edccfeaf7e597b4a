import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { installIdentities } from "../../lab/kube/identities.ts";
import { installCrds } from "../../lab/kube/install-crds.ts";
import type { Kind, KubeObject } from "../../src/api/kind.ts";
import { CUSTOM_KINDS } from "../../src/api/crds/kinds.ts";
import { BFDProfile } from "../../src/api/metallb/bfd-profile.ts";
import { BGPAdvertisement } from "../../src/api/metallb/bgp-advertisement.ts";
import { BGPPeer } from "../../src/api/metallb/bgp-peer.ts";
import { Community } from "../../src/api/metallb/community.ts";
import { IPAddressPool } from "../../src/api/metallb/ip-address-pool.ts";
import { L2Advertisement } from "../../src/api/metallb/l2-advertisement.ts";
import { KubeClient } from "../../src/kube/client/client.ts";
import { webhookConfiguration } from "../../src/kube/testing/webhook-configuration.ts";
import type { WebhookRule } from "../../src/kube/webhook/configuration.ts";
import { bgpAd, community, l2Ad, peer, pool, profile } from "../../src/loadbalancer/testing/config-fixtures.ts";
import { registerWebhooks, type ReviewSources } from "../../src/loadbalancer/webhooks.ts";
import { apiServer, type SuiteApiServer } from "../support/api-server.ts";
import { configureWebhooks, deployedWebhooks, type RunningWebhook, startWebhook } from "../support/webhook.ts";

const namespace = "metallb-system";
const { signal } = new AbortController();
const KINDS: readonly Kind[] = [IPAddressPool, BGPPeer, BFDProfile, BGPAdvertisement, L2Advertisement, Community];
let api: SuiteApiServer;
let client: KubeClient;
let webhook: RunningWebhook;

beforeAll(async () => {
  api = await apiServer("lb-webhooks");
  client = new KubeClient(api.access);
  await installCrds(client, CUSTOM_KINDS, signal);
  await installIdentities(client, signal);
  webhook = await startWebhook(api.access);
  await configureWebhooks(client, webhook, signal);
  await rejection(IPAddressPool, pool("probe", ["nonsense"]));
});
afterEach(async () => {
  for (const kind of [BGPPeer, ...KINDS] as Kind[]) {
    for (const { metadata } of (await client.resource(kind).list({ namespace, signal })).items) {
      await client.resource(kind).delete({ name: metadata.name, namespace }, { signal });
    }
  }
});
afterAll(async () => {
  await webhook.end();
  client.close();
  await api.stop();
});

/** As a person writes it: the server gives it the rest. */
async function create<T extends KubeObject>(kind: Kind<T>, object: T): Promise<T> {
  const { name } = object.metadata;
  return client.resource(kind).create({ ...object, metadata: { name, namespace } }, { signal });
}

/** What the webhook compares with is a moment behind: what went through too early is taken back, and tried again. */
async function rejection<T extends KubeObject>(kind: Kind<T>, object: T): Promise<string> {
  for (;;) {
    try {
      await create(kind, object);
    } catch (error) {
      return String(error);
    }
    await client.resource(kind).delete({ name: object.metadata.name, namespace }, { signal });
    await sleep(50);
  }
}

describe("rejects a write with the documented message", () => {
  test("of a pool that overlaps, new or edited", async () => {
    await create(IPAddressPool, pool("client1-pool", ["192.168.10.0/24"]));
    const text = 'CIDR "192.168.10.100/32" in pool "client2-pool" overlaps with already defined CIDR "192.168.10.0/24"';
    expect(await rejection(IPAddressPool, pool("client2-pool", ["192.168.10.100/32"]))).toContain(text);
    const range = 'CIDR "192.168.10.250-192.168.11.5" in pool "ranges" overlaps with already defined CIDR "192.168.10.0/24"';
    expect(await rejection(IPAddressPool, pool("ranges", ["192.168.10.250-192.168.11.5"]))).toContain(range);
    await create(IPAddressPool, pool("client2-pool", ["192.168.20.0/24"]));
    const edit = { spec: { addresses: ["192.168.20.0/24", "192.168.10.100/32"] } };
    await expect(client.resource(IPAddressPool).patch({ name: "client2-pool", namespace }, edit, { signal })).rejects.toThrow(
      /IPAddressPool.metallb.io "client2-pool" is invalid: spec.addresses\[1\]: CIDR "192.168.10.100\/32" in pool/,
    );
  });

  test("of a peer with another own AS number, also in the deprecated version", async () => {
    await create(BGPPeer, peer("a", { peerAddress: "1.2.3.5" }));
    const old = { ...BGPPeer, version: "v1beta1" };
    for (const kind of [BGPPeer, old]) {
      const text = "spec.myASN: peer 1.2.3.4 has myAsn different from 1.2.3.5, in FRR mode all myAsn must be equal";
      expect(await rejection<BGPPeer>(kind, peer("b", { peerAddress: "1.2.3.4", myASN: 7 }))).toContain(text);
    }
  });

  test("with all problems of an object", async () => {
    await expect(create(BGPPeer, peer("p", { myASN: 0, peerAddress: "x", holdTime: "1s" }))).rejects.toThrow(
      /is invalid: \[spec.holdTime: .*, spec.myASN: parsing peer p missing local ASN, spec.peerAddress: .*\]/,
    );
    for (const value of ["70000:1", "large:1:2:4294967296"]) {
      await expect(create(BGPAdvertisement, bgpAd("ad", { communities: [value] }))).rejects.toThrow("invalid community value");
    }
    const twice = bgpAd("ad", { communities: ["64512:1", "64512:1"] });
    await expect(create(BGPAdvertisement, twice)).rejects.toThrow('duplicate definition of community "64512:1"');
    await expect(create(L2Advertisement, l2Ad("l2", { interfaces: ["no/name"] }))).rejects.toThrow("invalid interface");
    await expect(create(Community, community("c", { alias: "1" }))).rejects.toThrow(
      'parsing community "alias": invalid community format: 1',
    );
  });

  test("of a pool that is too narrow for an advertisement, whichever is written last", async () => {
    await create(BGPAdvertisement, bgpAd("wide", { aggregationLength: 24 }));
    expect(await rejection(IPAddressPool, pool("narrow", ["10.0.0.0/26"]))).toContain("the change makes BGPAdvertisement wide invalid");
  });

  test("of any object in another namespace", async () => {
    const objects: readonly [Kind, KubeObject][] = [
      [IPAddressPool, pool("p", ["10.0.0.0/24"])],
      [BGPPeer, peer("p")],
      [BFDProfile, profile("p")],
      [BGPAdvertisement, bgpAd("p")],
      [L2Advertisement, l2Ad("p")],
      [Community, community("p", { alias: "64512:1" })],
    ];
    for (const [kind, object] of objects) {
      const elsewhere = { ...object, metadata: { name: "p", namespace: "default" } };
      await expect(client.resource(kind).create(elsewhere, { signal })).rejects.toThrow(
        "resource must be created in metallb-system namespace",
      );
    }
    expect(new Set(objects.map(([kind]) => kind))).toEqual(new Set(KINDS));
  });

  test("that deletes a BFD profile in use", async () => {
    await create(BFDProfile, profile("fast"));
    await create(BGPPeer, peer("p", { bfdProfile: "fast" }));
    const remove = () => client.resource(BFDProfile).delete({ name: "fast", namespace }, { signal });
    // Then it has seen p.
    expect(await rejection(BGPPeer, peer("q"))).toContain("peer 192.0.2.1 already exists");
    await expect(remove()).rejects.toThrow("failed to delete BFDProfile fast, used by BGPPeer p");
    await client.resource(BGPPeer).delete({ name: "p", namespace }, { signal });
    await vi.waitFor(remove, { timeout: 60_000, interval: 50 });
  });
});

test("transient errors pass: the Secret, the profile and the alias may be created later", async () => {
  await create(BGPPeer, peer("p", { bfdProfile: "later", passwordSecret: { name: "later" } }));
  await create(BGPAdvertisement, bgpAd("ad", { communities: ["later"] }));
  expect((await client.resource(BGPPeer).list({ namespace, signal })).items).toHaveLength(1);
});

test("deploy/ has a webhook for each validator, and none blocks writes when no answer comes", async () => {
  const watched: WebhookRule[] = [];
  const server = { register: (kind: Kind, _: unknown, operations: WebhookRule["operations"] = []) => watched.push({ kind, operations }) };
  registerWebhooks(server as never, {} as ReviewSources, namespace);
  const reach = { service: { namespace: "plumbline-system", name: "plumbline-webhook" } };
  expect(await deployedWebhooks()).toEqual(webhookConfiguration("plumbline-webhook", watched, reach));
  expect(new Set(watched.map(({ kind }) => kind))).toEqual(new Set(KINDS));
});

test("without the webhook everything is admitted", async () => {
  await webhook.end();
  await expect(create(IPAddressPool, pool("bad", ["nonsense"]))).resolves.toMatchObject({ spec: { addresses: ["nonsense"] } });
  webhook = await startWebhook(api.access);
});
