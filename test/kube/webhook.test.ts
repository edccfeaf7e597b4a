import { X509Certificate } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { connect } from "node:tls";
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { ConfigMap } from "../../src/api/core/config-map.ts";
import { Namespace } from "../../src/api/core/namespace.ts";
import { Secret } from "../../src/api/core/secret.ts";
import { KubeClient } from "../../src/kube/client/client.ts";
import { webhookConfiguration } from "../../src/kube/testing/webhook-configuration.ts";
import { ValidatingWebhookConfiguration } from "../../src/kube/webhook/configuration.ts";
import type { Lifetimes } from "../../src/kube/webhook/credentials.ts";
import { apiServer, type SuiteApiServer } from "../support/api-server.ts";
import { namespace, WebhookReplica } from "./fixtures/webhook-replica.ts";

const { signal } = new AbortController();
let api: SuiteApiServer;
let client: KubeClient;
let round = 0;

beforeAll(async () => {
  api = await apiServer("webhook");
  client = new KubeClient(api.access);
  await client.resource(Namespace).create({ metadata: { name: namespace } }, { signal });
});

afterAll(async () => {
  client.close();
  await api.stop();
});

const eventually = (check: () => Promise<void>) => vi.waitFor(check, { timeout: 60_000, interval: 50 });
const configMaps = () => client.resource(ConfigMap);
const configurations = () => client.resource(ValidatingWebhookConfiguration);
const configMap = (name: string, data: Record<string, string>) => configMaps().create({ metadata: { name, namespace }, data }, { signal });

/** Replicas of one webhook, and the configuration that makes the API server ask the first of them. */
async function webhook(options: { replicas?: number; lifetimes?: Lifetimes; failurePolicy?: "Fail" } = {}) {
  const name = `webhook-${++round}`;
  const { replicas = 1, lifetimes, failurePolicy } = options;
  const running = Array.from({ length: replicas }, () => new WebhookReplica(api, name, { secret: name, ...(lifetimes && { lifetimes }) }));
  onTestFinished(async () => {
    await configurations().delete({ name }, { signal });
    await Promise.all(running.map((replica) => replica.end()));
  });
  const [first] = running as [WebhookReplica];
  const generated = webhookConfiguration(name, first.server.watched, { url: await first.url });
  const webhooks = (generated.webhooks ?? []).map((webhook) => Object.assign(webhook, failurePolicy && { failurePolicy }));
  await configurations().create({ ...generated, webhooks }, { signal });
  await trusted(name);
  // The API server loads the configuration with a delay.
  await eventually(async () => {
    await configMap(`probe-${++round}`, {});
    expect(first.judged).toBeGreaterThan(0);
  });
  return { name, replicas: running, first };
}

const caBundle = async (name: string) => (await configurations().get(name, { signal })).webhooks?.[0]?.clientConfig.caBundle ?? "";
const trusted = (name: string) => eventually(async () => expect(await caBundle(name)).not.toBe(""));

test("a write that a validator refuses is refused by the API server in our words, and one that it warns of goes through", async () => {
  await webhook();
  await expect(configMap("refused", { bad: "apple" })).rejects.toThrow(
    'ConfigMap "refused" is invalid: data.bad: Invalid value: "apple": leave it out',
  );
  await expect(configMap("odd", { odd: "shoe" })).resolves.toMatchObject({ data: { odd: "shoe" } });
  await expect(configMaps().patch({ name: "odd", namespace }, { data: { bad: "pear" } }, { signal })).rejects.toThrow("data.bad");
});

test("a validator that throws does not stop a write", async () => {
  const { first } = await webhook();
  await expect(configMap("thrown", { throw: "a bug" })).resolves.toMatchObject({ data: { throw: "a bug" } });
  expect(first.logged.join("\n")).toContain("webhook could not validate a write");
});

test("without any webhook running writes go through, unchecked", async () => {
  const { first } = await webhook();
  const before = first.judged;
  await first.end();
  await expect(configMap("unchecked", { bad: "apple" })).resolves.toMatchObject({ data: { bad: "apple" } });
  expect(first.judged).toBe(before);
});

test("replicas that start together agree on one certificate", async () => {
  const { name, replicas } = await webhook({ replicas: 4 });
  await eventually(async () => expect(replicas.map(({ served }) => served.length > 0)).toEqual([true, true, true, true]));
  const { data = {} } = await client.resource(Secret).get(name, { namespace, signal });
  const stored = Buffer.from(data["tls.crt"] ?? "", "base64").toString();
  await eventually(async () => expect(replicas.map(({ served }) => served.at(-1)?.certificate)).toEqual(replicas.map(() => stored)));
  expect(await caBundle(name)).toBe(data["ca.crt"]);
  expect(replicas.flatMap(({ logged }) => logged).filter((line) => line.includes("reconcile failed"))).toEqual([]);
});

test("restores an edited caBundle and a deleted Secret", async () => {
  const { name } = await webhook();
  const { webhooks = [] } = await configurations().get(name, { signal });
  const good = await caBundle(name);
  for (const webhook of webhooks) delete webhook.clientConfig.caBundle;
  await configurations().patch({ name }, { webhooks }, { signal });
  await eventually(async () => expect(await caBundle(name)).toBe(good));

  await client.resource(Secret).delete({ name, namespace }, { signal });
  await eventually(async () => {
    const fresh = await caBundle(name);
    expect(fresh).not.toBe(good);
    expect((await client.resource(Secret).get(name, { namespace, signal })).data?.["ca.crt"]).toBe(fresh);
    await expect(configMap(`again-${++round}`, { bad: "apple" })).rejects.toThrow("data.bad");
  });
});

/** A handshake of an API server whose configuration is a second old. */
function handshake(port: number, bundle: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: "127.0.0.1", port, ca: bundle }, () => {
      resolve(socket.getPeerX509Certificate()?.serialNumber ?? "");
      socket.destroy();
    });
    socket.on("error", reject);
  });
}

test("while certificate and authority are renewed under load, every single write is judged and every handshake succeeds", async () => {
  const lifetimes = { authorityMs: 9_000, servingMs: 4_000, publishedMs: 2_000 };
  // Here a question without an answer refuses the write.
  const { name, first, replicas } = await webhook({ replicas: 2, lifetimes, failurePolicy: "Fail" });
  const judgedBefore = first.judged;
  const failures: string[] = [];
  const authorities = new Set<string>();
  const certificates = new Set<string>();
  const until = performance.now() + 16_000;
  const repeat = async (pauseMs: number, work: () => Promise<unknown>) => {
    for (; performance.now() < until; await sleep(pauseMs)) await work().catch((error: unknown) => failures.push(String(error)));
  };

  let writes = 0;
  const write = () => configMaps().patch({ name: "load", namespace }, { data: { n: String(++writes) } }, { signal });
  let bundle = "";
  const read = async () => {
    bundle = Buffer.from(await caBundle(name), "base64").toString();
    for (const pem of bundle.split(/(?=-----BEGIN)/)) authorities.add(new X509Certificate(pem).serialNumber);
  };
  const ports = await Promise.all(replicas.map(async ({ server }) => (await server.address).port));
  const shake = async () => {
    for (const port of ports) certificates.add(await handshake(port, bundle));
  };
  await configMap("load", {});
  await read();
  await Promise.all([repeat(5, write), repeat(1000, read), repeat(50, shake)]);

  expect(failures).toEqual([]);
  expect(first.judged - judgedBefore).toBeGreaterThanOrEqual(writes);
  expect(authorities.size).toBeGreaterThanOrEqual(3);
  expect(certificates.size).toBeGreaterThanOrEqual(5);
  await eventually(async () => expect(replicas[1]?.served.at(-1)).toEqual(first.served.at(-1)));
});
