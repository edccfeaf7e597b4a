import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Secret } from "../../api/core/secret.ts";
import { keyOf, type Kind, type KubeObject } from "../../api/kind.ts";
import type { Cache, Change } from "../cache/cache.ts";
import type { KubeClient } from "../client/client.ts";
import { KubeError } from "../client/error.ts";
import { createLog } from "../log.ts";
import type { CertificatePair } from "../x509.ts";
import { WebhookCertificates } from "./certificates.ts";
import { webhookConfiguration } from "../testing/webhook-configuration.ts";
import type { ValidatingWebhookConfiguration } from "./configuration.ts";
import { LIFETIMES, renew, toSecretData } from "./credentials.ts";

const DAY = 24 * 3_600_000;
const names = ["webhook.svc"];
const secretKey = "plumbline-system/cert";

/** Objects of one kind as a cache shows them. */
class FakeCache<T extends KubeObject> {
  readonly #objects = new Map<string, T>();
  readonly #listeners = new Set<(change: Change<T>) => void>();
  get = (key: string) => this.#objects.get(key);
  list = () => [...this.#objects.values()];
  waitForSync = () => Promise.resolve();
  subscribe(listener: (change: Change<T>) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
  show(object: T): void {
    this.#objects.set(keyOf(object), object);
    for (const listener of this.#listeners) listener({ type: "added", object, initial: false });
  }
}

let secrets: FakeCache<Secret>;
let configurations: FakeCache<ValidatingWebhookConfiguration>;
let requests: { verb: string; body: object }[];
/** What the next writes are answered with. */
let failures: (KubeError | undefined)[];
let served: CertificatePair[];
let logged: string[];
let stop: AbortController;
let ended: Promise<void>;

function write<T extends KubeObject>(cache: FakeCache<T>, verb: string, body: object, object: () => T): Promise<T> {
  requests.push({ verb, body });
  const failure = failures.shift();
  if (failure) return Promise.reject(failure);
  const stored = object();
  stored.metadata = { ...stored.metadata, resourceVersion: String(requests.length) };
  cache.show(stored);
  return Promise.resolve(stored);
}

const client = {
  resource(kind: Kind) {
    if (kind.kind === Secret.kind) {
      return {
        create: (object: Secret) => write(secrets, "create Secret", object, () => structuredClone(object)),
        replace: (object: Secret) => write(secrets, "replace Secret", object, () => structuredClone(object)),
      };
    }
    return {
      patch: ({ name }: { name: string }, patch: ValidatingWebhookConfiguration, options: { resourceVersion: string }) =>
        write(configurations, `patch ${name} at ${options.resourceVersion}`, patch, () => ({
          ...configurations.list()[0],
          ...patch,
          metadata: { name },
        })),
    };
  },
} as unknown as KubeClient;

beforeEach(() => {
  vi.useFakeTimers({ now: new Date("2026-11-15T08:00:00Z") });
  secrets = new FakeCache();
  configurations = new FakeCache();
  requests = [];
  failures = [];
  served = [];
  logged = [];
  stop = new AbortController();
});

afterEach(async () => {
  stop.abort();
  await vi.advanceTimersByTimeAsync(0);
  await ended;
  vi.useRealTimers();
});

async function start(): Promise<void> {
  const certificates = new WebhookCertificates({
    client,
    secrets: secrets as unknown as Cache<Secret>,
    configurations: configurations as unknown as Cache<ValidatingWebhookConfiguration>,
    secret: { namespace: "plumbline-system", name: "cert" },
    names,
    log: createLog({ write: (line) => logged.push((JSON.parse(line) as { msg: string }).msg) }),
  });
  certificates.subscribe((identity) => served.push(identity));
  ended = certificates.run(stop.signal);
  await vi.advanceTimersByTimeAsync(0);
}

const verbs = () => requests.splice(0).map(({ verb }) => verb);
const asking = () => {
  const configuration = webhookConfiguration("plumbline", [{ kind: Secret, operations: ["CREATE"] }], { url: "https://127.0.0.1:9443" });
  return { ...configuration, metadata: { name: "plumbline", resourceVersion: "7" } };
};
const forbidden = () => new KubeError("Forbidden", "no right");

test("the first start creates everything, and existing credentials need no request", async () => {
  configurations.show(asking());
  await start();
  expect(requests[1]?.body).toMatchObject({
    webhooks: [
      {
        ...asking().webhooks?.[0],
        clientConfig: { url: "https://127.0.0.1:9443/validate/secrets", caBundle: secrets.get(secretKey)?.data?.["ca.crt"] },
      },
    ],
  });
  expect(verbs()).toEqual(["create Secret", "patch plumbline at 7"]);
  expect(served.map(({ certificate }) => Buffer.from(certificate).toString("base64"))).toEqual([secrets.get(secretKey)?.data?.["tls.crt"]]);

  for (const configuration of configurations.list()) configurations.show(structuredClone(configuration));
  await vi.advanceTimersByTimeAsync(10 * DAY);
  expect(verbs()).toEqual([]);
  expect(served).toHaveLength(1);
});

test("a webhook configuration that is created later, or loses its caBundle, gets it", async () => {
  await start();
  expect(verbs()).toEqual(["create Secret"]);
  for (let n = 0; n < 2; n++) {
    configurations.show(asking());
    await vi.advanceTimersByTimeAsync(0);
    expect(verbs()).toEqual(["patch plumbline at 7"]);
  }
});

test("credentials of another replica are served unchanged", async () => {
  const theirs = renew(undefined, names, LIFETIMES, new Date());
  secrets.show({ metadata: { name: "cert", namespace: "plumbline-system", resourceVersion: "3" }, data: toSecretData(theirs) });
  await start();
  expect(verbs()).toEqual([]);
  expect(served).toEqual([theirs.serving]);
});

test.each(["AlreadyExists", "Conflict"] as const)("%s: another replica was faster, which is not an error", async (code) => {
  failures.push(new KubeError(code, "someone was faster"));
  await start();
  const theirs = renew(undefined, names, LIFETIMES, new Date());
  secrets.show({ metadata: { name: "cert", namespace: "plumbline-system", resourceVersion: "3" }, data: toSecretData(theirs) });
  await vi.advanceTimersByTimeAsync(5000);
  expect(verbs()).toEqual(["create Secret"]);
  expect(served).toEqual([theirs.serving]);
  expect(logged).not.toContain("reconcile failed");
});

test("a due certificate is renewed, and served after the caBundle is written", async () => {
  configurations.show(asking());
  await start();
  verbs();
  await vi.advanceTimersByTimeAsync(61 * DAY);
  expect(verbs()).toEqual(["replace Secret"]);
  expect(served).toHaveLength(2);
});

test("a certificate whose caBundle could not be written is served only if there is none yet", async () => {
  configurations.show(asking());
  failures.push(undefined, ...Array.from({ length: 3 }, forbidden));
  await start();
  expect(served).toHaveLength(1);
  await vi.advanceTimersByTimeAsync(1000);
  expect(verbs()).toEqual(["create Secret", ...Array.from({ length: 4 }, () => "patch plumbline at 7")]);

  const theirs = renew(undefined, names, LIFETIMES, new Date());
  failures.push(...Array.from({ length: 3 }, forbidden));
  secrets.show({ metadata: { name: "cert", namespace: "plumbline-system", resourceVersion: "99" }, data: toSecretData(theirs) });
  await vi.advanceTimersByTimeAsync(5);
  expect(served).toHaveLength(1);
  await vi.advanceTimersByTimeAsync(1000);
  expect(served).toHaveLength(2);
});
