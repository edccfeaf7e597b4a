import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { vi } from "vitest";
import { parse } from "yaml";
import { accessAs } from "../../lab/kube/identities.ts";
import { addWebhooks } from "../../src/cli/shared/webhooks.ts";
import type { ClusterAccess } from "../../src/kube/client/access.ts";
import { KubeClient } from "../../src/kube/client/client.ts";
import { Manager } from "../../src/kube/controller/manager.ts";
import { createLog } from "../../src/kube/log.ts";
import { ValidatingWebhookConfiguration } from "../../src/kube/webhook/configuration.ts";

export interface RunningWebhook {
  readonly url: string;
  end(): Promise<void>;
}

/** `plumbline controller --webhook-mode onlywebhook`, as far as webhooks go. */
export async function startWebhook(access: ClusterAccess): Promise<RunningWebhook> {
  const stop = new AbortController();
  const ports: number[] = [];
  const log = createLog({
    write: (line) => {
      const { msg, port } = JSON.parse(line) as { msg: string; port?: number };
      if (msg === "webhook listening" && port !== undefined) ports.push(port);
    },
  });
  const client = new KubeClient(accessAs("controller", access));
  const manager = new Manager({ client, log });
  addWebhooks({ manager, client, log, namespace: "plumbline-system", metallbNamespace: "metallb-system", host: "127.0.0.1", port: 0 });
  const ended = manager.run(stop.signal);
  const port = await vi.waitFor(() => ports[0] ?? Promise.reject(new Error("not listening yet")), { timeout: 60_000 });
  return {
    url: `https://127.0.0.1:${port}`,
    async end() {
      stop.abort();
      await ended;
    },
  };
}

/** What deploy/ has. */
export async function deployedWebhooks(): Promise<ValidatingWebhookConfiguration> {
  return parse(
    await readFile(join(import.meta.dirname, "../../deploy/chart/files/webhooks.yaml"), "utf8"),
  ) as ValidatingWebhookConfiguration;
}

/** The same, reached by URL because no Service leads out of the API server here. The API server loads it with a delay. */
export async function configureWebhooks(client: KubeClient, { url }: RunningWebhook, signal: AbortSignal): Promise<void> {
  const configuration = await deployedWebhooks();
  for (const one of configuration.webhooks ?? []) one.clientConfig = { url: `${url}${one.clientConfig.service?.path}` };
  await client.resource(ValidatingWebhookConfiguration).create(configuration, { signal });
}
