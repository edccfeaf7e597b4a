import { type ChildProcess, spawn } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { connect } from "node:tls";
import { afterAll, afterEach, beforeAll, expect, inject, test, vi } from "vitest";
import { accessAs, installIdentities, kubeconfigOf } from "../../lab/kube/identities.ts";
import { installCrds } from "../../lab/kube/install-crds.ts";
import { ConfigMap } from "../../src/api/core/config-map.ts";
import { Lease } from "../../src/api/core/lease.ts";
import { Node } from "../../src/api/core/node.ts";
import { Secret } from "../../src/api/core/secret.ts";
import { ConfigurationState } from "../../src/api/metallb/configuration-state.ts";
import { ConfigurationStatus } from "../../src/api/metallb/configuration-status.ts";
import { CUSTOM_KINDS } from "../../src/api/crds/kinds.ts";
import { KubeClient } from "../../src/kube/client/client.ts";
import { createLog } from "../../src/kube/log.ts";
import { parseMembers } from "../../src/kube/members/members.ts";
import { controllerWatch } from "../../src/loadbalancer/status/controller-watch.ts";
import { apiServer, type SuiteApiServer } from "../support/api-server.ts";

const namespace = "plumbline-system";
const { signal } = new AbortController();
let api: SuiteApiServer;
let client: KubeClient;
let kubeconfig: string;
const running = new Set<Controller>();

beforeAll(async () => {
  api = await apiServer("controller-command");
  client = new KubeClient(api.access);
  await installCrds(client, CUSTOM_KINDS, signal);
  await installIdentities(client, signal);
  kubeconfig = join(inject("lab").directory, "controller.kubeconfig");
  await writeFile(kubeconfig, await kubeconfigOf(accessAs("controller", api.access)), { mode: 0o600 });
  await client.resource(Node).create({ metadata: { name: "n1" }, spec: {} }, { signal });
});
afterEach(() => {
  for (const controller of running) controller.process.kill("SIGKILL");
  running.clear();
});
afterAll(async () => {
  client.close();
  await api.stop();
});

interface Line {
  msg: string;
  address?: string;
  port?: number;
}

/** `plumbline controller` as a process, read through its log. */
class Controller {
  readonly process: ChildProcess;
  readonly ended: Promise<number | null>;
  readonly #lines: Line[] = [];

  constructor(identity: string, kubeconfig: string) {
    const addresses = ["--health-address", "127.0.0.1:0", "--webhook-address", "127.0.0.1:0"];
    const args = ["controller", "--kubeconfig", kubeconfig, "--identity", identity, ...addresses];
    this.process = spawn(join(import.meta.dirname, "../../plumbline"), args, { stdio: ["ignore", "inherit", "pipe"] });
    this.ended = new Promise((resolve) => this.process.once("exit", resolve));
    if (this.process.stderr)
      createInterface({ input: this.process.stderr }).on("line", (line) => this.#lines.push(JSON.parse(line) as Line));
    running.add(this);
  }

  logged(message: string): Promise<Line> {
    return vi.waitFor(
      () => {
        const line = this.#lines.find(({ msg }) => msg === message);
        if (!line) throw new Error(`not said yet: ${message}`);
        return line;
      },
      { timeout: 60_000, interval: 50 },
    );
  }

  async get(path: string): Promise<{ status: number; body: string }> {
    const { address = "" } = await this.logged("health server listening");
    const response = await fetch(`http://${address}${path}`);
    return { status: response.status, body: await response.text() };
  }

  ready(): Promise<void> {
    return vi.waitFor(
      async () => {
        const { status, body } = await this.get("/readyz");
        if (status !== 200) throw new Error(body);
      },
      { timeout: 60_000, interval: 100 },
    );
  }
}

const holder = async () => (await client.resource(Lease).get("plumbline-controller", { namespace, signal })).spec.holderIdentity ?? "";

test("two replicas are ready and one leads; on SIGTERM it releases the Lease, and the other leads at once", async () => {
  const first = new Controller("first", kubeconfig);
  await first.logged("leadership changed");
  const second = new Controller("second", kubeconfig);
  await Promise.all([first.ready(), second.ready()]);
  expect(await holder()).toMatch(/^first_/);

  const members = await vi.waitFor(() => client.resource(ConfigMap).get("plumbline-members", { namespace, signal }), { timeout: 60_000 });
  expect(parseMembers(members)).toMatchObject({ live: [], indexes: { n1: { index: 0 } } });
  expect((await first.get("/metrics")).body).toContain('plumbline_leader{lease="plumbline-controller"} 1');
  expect((await second.get("/metrics")).body).toContain('plumbline_leader{lease="plumbline-controller"} 0');

  first.process.kill("SIGTERM");
  expect(await first.ended).toBe(0);
  await vi.waitFor(async () => expect(await holder()).toMatch(/^second_/), { timeout: 60_000, interval: 100 });
  second.process.kill("SIGINT");
  expect(await second.ended).toBe(0);
  expect(await holder()).toBe("");
});

test("when both replicas are killed an agent marks their status Unknown, and the next replica corrects it", async ({ onTestFinished }) => {
  const agent = new KubeClient(accessAs({ agentOf: "n1" }, api.access));
  const metallbNamespace = "metallb-system";
  const log = createLog({ level: "silent" });
  const stop = new AbortController();
  const options = { client: agent, log, namespace, lease: "plumbline-controller", metallbNamespace, agentsBefore: () => 0 };
  const watching = controllerWatch({ ...options, pollMs: 500, silenceMs: 8_000 }).run(stop.signal);
  onTestFinished(async () => {
    stop.abort();
    await watching;
    agent.close();
  });
  const reported = async () => {
    const state = await client.resource(ConfigurationState).get("controller", { namespace: metallbNamespace, signal });
    const whole = await client.resource(ConfigurationStatus).get("config-status", { namespace: metallbNamespace, signal });
    const [condition, valid] = [state.status?.conditions?.[0], whole.status?.conditions?.[0]];
    return [state.status?.result, condition?.reason, valid?.status, valid?.reason, whole.status?.validConfig];
  };
  const becomes = (...wanted: unknown[]) =>
    vi.waitFor(async () => expect(await reported()).toEqual(wanted), { timeout: 60_000, interval: 100 });
  const replicas = [new Controller("one", kubeconfig), new Controller("two", kubeconfig)];
  await becomes("Valid", "ConfigurationValid", "True", "ConfigurationValid", true);

  for (const { process } of replicas) process.kill("SIGKILL");
  await becomes("Unknown", "ControllerSilent", "Unknown", "ControllerSilent", undefined);
  // Otherwise the next one waits until it expires.
  await client.resource(Lease).delete({ name: "plumbline-controller", namespace }, { signal });
  const third = new Controller("three", kubeconfig);
  await third.logged("leadership changed");
  await becomes("Valid", "ConfigurationValid", "True", "ConfigurationValid", true);
});

test("every replica answers on the webhook's address with the certificate that they share", async () => {
  const replicas = [new Controller("a", kubeconfig), new Controller("b", kubeconfig)];
  const ports = await Promise.all(replicas.map(async (replica) => (await replica.logged("webhook listening")).port ?? 0));
  const served = await Promise.all(ports.map(servedCertificate));
  const { data = {} } = await client.resource(Secret).get("plumbline-webhook-cert", { namespace, signal });
  const stored = Buffer.from(data["tls.crt"] ?? "", "base64").toString();
  expect(served.map((pem) => stored.includes(pem.trim()))).toEqual([true, true]);
});

function servedCertificate(port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    // Whether it is trusted is tested with the API server; here we only compare.
    const socket = connect({ host: "127.0.0.1", port, rejectUnauthorized: false }, () => {
      const { raw } = socket.getPeerX509Certificate() ?? {};
      socket.destroy();
      resolve(
        `-----BEGIN CERTIFICATE-----\n${
          raw
            ?.toString("base64")
            .replace(/(.{64})/g, "$1\n")
            .trim() ?? ""
        }\n-----END CERTIFICATE-----`,
      );
    });
    socket.once("error", reject);
  });
}
