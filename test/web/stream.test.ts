import { EventEmitter, once } from "node:events";
import { request } from "node:http";
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { Node } from "../../src/api/core/node.ts";
import { Service } from "../../src/api/core/service.ts";
import { IPAddressPool } from "../../src/api/metallb/ip-address-pool.ts";
import { RouterNodeConfigurationStatus } from "../../src/api/openpe/router-node-configuration-status.ts";
import { node, pool, routerStatus, service } from "../../src/web/testing/fixtures.ts";
import { loopbackViewer, unrestrictedViewer, type Viewer } from "../../src/web/access/viewer.ts";
import type { ViewSnapshot } from "../../src/web/api.ts";
import { EventReader } from "./fixtures/event-reader.ts";
import { serveModel, type ServedModel } from "./fixtures/dashboard-server.ts";

let served: ServedModel;
beforeEach(async () => {
  served = await serveModel();
  served.model.put(Service, service("shop", "web"));
});
afterEach(() => served.stop());

function follow(query: string, lastEventId?: string): EventReader {
  const reader = new EventReader(`${served.url}/api/stream?${query}`, lastEventId === undefined ? {} : { "Last-Event-ID": lastEventId });
  onTestFinished(() => reader.close());
  return reader;
}

interface Views {
  views: { loadbalancer?: { upsert?: { key: string }[]; remove?: string[] } };
}
const changed = ({ data }: { data: unknown }) => {
  const { upsert = [], remove = [] } = (data as Views).views.loadbalancer ?? {};
  return { upsert: upsert.map(({ key }) => key), remove };
};

test("a reader gets everything first, then only what changes, several changes at once where they come together", async () => {
  const reader = follow("views=loadbalancer,overview");
  const { data } = await reader.next("snapshot");
  expect(Object.keys(data["views"] as object)).toEqual(["loadbalancer", "overview", "sync"]);
  served.model.put(Service, service("shop", "mail"));
  served.model.put(IPAddressPool, pool("edge"));
  expect(changed(await reader.next("change"))).toEqual({ upsert: ["service/shop/mail", "pool/metallb-system/edge"], remove: [] });
  served.model.drop(Service, service("shop", "web"));
  expect(changed(await reader.next("change"))).toEqual({ upsert: [], remove: ["service/shop/web"] });
});

test("who comes back is told what he has missed, and only that", async () => {
  const reader = follow("views=loadbalancer");
  const { id } = await reader.next("snapshot");
  reader.close();
  served.model.put(Service, service("shop", "mail"));
  served.model.drop(Service, service("shop", "web"));
  const again = follow("views=loadbalancer", id);
  const missed = await again.next("change");
  expect(changed(missed)).toEqual({ upsert: ["service/shop/mail"], remove: ["service/shop/web"] });
  again.close();
  expect(await follow("views=loadbalancer", missed.id).next("heartbeat")).toMatchObject({ data: {} });
});

test("who has missed too much, or knows another server's picture, is told everything", async () => {
  const reader = follow("views=loadbalancer");
  const { id } = await reader.next("snapshot");
  reader.close();
  const many = Array.from({ length: 9_000 }, (_, number) => ({
    metadata: { name: `p${number}`, namespace: "metallb-system" },
    spec: { addresses: [] },
  }));
  for (const one of many) served.model.put(IPAddressPool, one);
  served.model.refresh();
  for (const one of many) served.model.drop(IPAddressPool, one);
  const after = await follow("views=loadbalancer", id).next("snapshot");
  expect((after.data as { views: { loadbalancer: { key: string }[] } }).views.loadbalancer.map(({ key }) => key)).toEqual([
    "service/shop/web",
  ]);
  await follow("views=loadbalancer", `00ff00ff00ff-${id.split("-")[1]}`).next("snapshot");
  await follow("views=loadbalancer", "nonsense").next("snapshot");
});

/** Three megabytes, so that no buffer on the way holds many of them. */
function ingest(round: number): void {
  for (let number = 0; number < 300; number += 1) {
    const one = service("shop", `web${number}`, `192.0.2.${round}`);
    const annotations = { "metallb.io/ip-allocated-from-pool": "x".repeat(10_000) };
    served.model.put(Service, { ...one, metadata: { ...one.metadata, annotations } });
  }
}

test("nothing is kept for a reader who does not read; when he reads again he has what is true then, and not all that was", async () => {
  const rounds = 12;
  const [slow, quick] = [follow("views=loadbalancer"), follow("views=loadbalancer")];
  await Promise.all([slow.next("snapshot"), quick.next("snapshot")]);
  slow.pause();
  for (let round = 1; round <= rounds; round += 1) {
    ingest(round);
    await quick.next("change");
  }
  slow.resume();
  let events = 0;
  for (let address = ""; address !== `192.0.2.${rounds}`; events += 1) {
    const { data } = await slow.next("change");
    const { upsert = [] } = (data as { views: { loadbalancer: { upsert?: { addresses: string[] }[] } } }).views.loadbalancer;
    address = upsert.at(-1)?.addresses[0] ?? "";
  }
  expect(events).toBeLessThan(rounds);
});

test("a thing and the answer to why come with the stream, and again when they are others", async () => {
  served.model.put(Node, node("n1"));
  served.model.put(RouterNodeConfigurationStatus, routerStatus("n1"));
  const id = "RouterNodeConfigurationStatus/openperouter-system/n1";
  const reader = follow(`views=&component=${encodeURIComponent(id)}&why=${encodeURIComponent("Node/n1")}`);
  const { data } = await reader.next("snapshot");
  expect(data).toMatchObject({
    components: { [id]: { component: { sessions: [{ state: "Established" }] } } },
    whys: { "Node/n1": { answer: { causes: [] } } },
  });
  served.model.put(RouterNodeConfigurationStatus, routerStatus("n1", "Active"));
  expect((await reader.next("change")).data).toMatchObject({
    components: { [id]: { component: { sessions: [{ state: "Active" }] } } },
    whys: { "Node/n1": { answer: { causes: [{ id: "Session/192.168.11.1@n1" }] } } },
  });
});

test("no more streams are open than are bearable, of one user and of all, and one that is closed makes room", async () => {
  const crowded = await serveModel({
    ...loopbackViewer,
    viewerOf: ({ authorization = "" }) => Promise.resolve({ ...unrestrictedViewer, user: authorization }),
  });
  onTestFinished(() => crowded.stop());
  crowded.model.set("sync", { type: "sync", key: "sync", complete: true, lost: [], hidden: [] });
  const url = `${crowded.url}/api/stream?views=sync`;
  const followAs = (user: string) => {
    const reader = new EventReader(url, { Authorization: user });
    onTestFinished(() => reader.close());
    return reader;
  };
  const rejection = async (user: string) => {
    const response = await fetch(url, { headers: { Authorization: user } });
    return [response.status, await response.json()];
  };
  const readers = Array.from({ length: 8 }, () => followAs("user0"));
  await Promise.all(readers.map((reader) => reader.next("snapshot")));
  expect(await rejection("user0")).toEqual([
    503,
    { error: expect.stringContaining("8 browsers of user0 are connected already") as string },
  ]);
  for (let nth = 8; nth < 64; nth += 1) readers.push(followAs(`user${nth >> 3}`));
  await Promise.all(readers.slice(8).map((reader) => reader.next("snapshot")));
  expect(await rejection("user9")).toEqual([503, { error: expect.stringContaining("64 browsers are connected already") as string }]);
  readers[0]?.close();
  await vi.waitFor(() => followAs("user9").next("snapshot"), { timeout: 60_000 });
});

test("requests of one user beyond eight are refused while his others are unanswered, and others are served", async () => {
  const learned = Promise.withResolvers<void>();
  const crowded = await serveModel({
    ...loopbackViewer,
    viewerOf: ({ authorization = "" }) =>
      Promise.resolve({
        ...unrestrictedViewer,
        user: authorization,
        learn: () => (authorization === "slow" ? learned.promise : Promise.resolve()),
      }),
  });
  onTestFinished(() => crowded.stop());
  const ask = async (user: string) => {
    const answer = await fetch(`${crowded.url}/api/views/overview`, { headers: { Authorization: user } });
    await answer.text();
    return answer.status;
  };
  const asking = Array.from({ length: 8 }, () => ask("slow"));
  await vi.waitFor(async () => expect(await ask("slow")).toBe(429), 30_000);
  expect(await ask("quick")).toBe(200);
  learned.resolve();
  expect(await Promise.all(asking)).toEqual(Array(8).fill(200));
  expect(await ask("slow")).toBe(200);
});

test("who goes away while it is found out who he is takes up no room", async () => {
  const requests = new EventEmitter();
  const known = Promise.withResolvers<Viewer>();
  const slow = await serveModel({
    ...loopbackViewer,
    viewerOf: () => {
      requests.emit("requested");
      return known.promise;
    },
  });
  onTestFinished(() => slow.stop());
  for (let nth = 0; nth < 64; nth += 1) {
    const arrived = once(requests, "requested");
    const reader = new EventReader(`${slow.url}/api/stream?views=sync`);
    await arrived;
    reader.close();
  }
  await vi.waitFor(async () => expect(await slow.connections()).toBe(0), 30_000);
  known.resolve(unrestrictedViewer);
  const reader = new EventReader(`${slow.url}/api/stream?views=sync`);
  onTestFinished(() => reader.close());
  await reader.next("snapshot");
});

test("when the server ends every stream ends, and no connection is left", async () => {
  const readers = [follow("views=overview"), follow("views=router")];
  await Promise.all(readers.map((reader) => reader.next("snapshot")));
  await served.stop();
  await Promise.all(readers.map((reader) => reader.untilEnded()));
  expect(await served.connections().catch(() => 0)).toBe(0);
  served = await serveModel();
});

test("a view can be had alone, and who has it already is told so", async () => {
  const first = await fetch(`${served.url}/api/views/loadbalancer`);
  expect((await first.json()) as ViewSnapshot<"loadbalancer">).toMatchObject({
    view: "loadbalancer",
    epoch: served.model.rows.epoch,
    rows: [{ key: "service/shop/web" }],
  });
  const etag = first.headers.get("etag") ?? "";
  expect((await fetch(`${served.url}/api/views/loadbalancer`, { headers: { "If-None-Match": etag } })).status).toBe(304);
  expect((await fetch(`${served.url}/api/views/attic`)).status).toBe(404);
  const component = await fetch(`${served.url}/api/components/Service/shop/web`);
  expect(await component.json()).toMatchObject({ component: { type: "service", row: { name: "web" } } });
  expect((await fetch(`${served.url}/api/components/Service/shop/none`)).status).toBe(404);
  expect(await (await fetch(`${served.url}/api/why?component=Service/shop/web`)).json()).toMatchObject({
    answer: { path: { id: "Service/shop/web" } },
  });
  expect((await fetch(`${served.url}/api/why`)).status).toBe(400);
});

function statusFor(host: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const asking = request(`${served.url}/api/whoami`, { headers: { Host: host } }, (response) => resolve(response.resume().statusCode));
    asking.on("error", reject).end();
  });
}

test("a name that was made to lead to this machine is refused", async () => {
  expect(await statusFor("rebound.example:8480")).toBe(421);
  expect(await statusFor("127.0.0.1.rebound.example")).toBe(421);
  expect(await statusFor("localhost:8480")).toBe(200);
});

test("nothing can be changed through the page, and it may load nothing from elsewhere", async () => {
  for (const method of ["POST", "PUT", "PATCH", "DELETE"]) {
    for (const path of ["/", "/api/views/overview", "/api/components/Service/shop/web", "/api/login"]) {
      expect((await fetch(`${served.url}${path}`, { method })).status).toBe(404);
    }
  }
  const page = await fetch(`${served.url}/`);
  expect(page.headers.get("content-security-policy")).toBe(
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  );
  expect(page.headers.get("cache-control")).toBe("no-cache");
  const script = await fetch(`${served.url}/assets/index-abc.js`);
  expect(script.headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
  expect((await fetch(`${served.url}/../package.json`)).status).toBe(404);
});
