import { hostname } from "node:os";
import { type Command, InvalidArgumentError, Option } from "commander";
import { Lease } from "../../api/core/lease.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { isKubeError } from "../../kube/client/error.ts";
import { Manager } from "../../kube/controller/manager.ts";
import { LeaderElector } from "../../kube/leader/leader.ts";
import { createLog } from "../../kube/log.ts";
import { CONTROLLER_LEASE } from "../../kube/members/agent-lease.ts";
import { type ClusterOptions, connectToCluster, withCluster } from "../shared/connection.ts";
import { addControllerComponents } from "../shared/controller-components.ts";
import { type LogLevel, oneOf, withLogLevel } from "../shared/log-level.ts";
import { clusterPageOption, type PageAddress } from "../dashboard/page-address.ts";
import { addWebhooks } from "../shared/webhooks.ts";

interface ControllerOptions extends ClusterOptions {
  namespace: string;
  routerNamespace: string;
  metallbNamespace: string;
  lbClass?: string;
  ignoreExcludeLb?: boolean;
  agents?: string;
  dnsAnnotation: string;
  failover: boolean;
  failoverNamespaces?: readonly string[];
  healthAddress: string;
  webhookMode: WebhookMode;
  webhookAddress: { host?: string; port: number };
  pageAddress?: PageAddress;
  identity: string;
  logLevel: LogLevel;
}

const WEBHOOK_MODES = ["enabled", "disabled", "onlywebhook"] as const;
type WebhookMode = (typeof WEBHOOK_MODES)[number];

export function configure(command: Command): void {
  withLogLevel(withCluster(command))
    .option("--namespace <name>", "namespace of Plumbline's own objects", "plumbline-system")
    .option("--router-namespace <name>", "namespace of the router's configuration and statuses", "openperouter-system")
    .option("--metallb-namespace <name>", "namespace of the load balancer's configuration and statuses", "metallb-system")
    .option("--lb-class <class>", "serve Services of this loadBalancerClass (default: those without one)")
    .option("--ignore-exclude-lb", "set if the agents run with this option: excluded nodes announce Services too")
    .option("--agents <daemonset>", "DaemonSet of the agents; omit if agents are not Pods")
    .option(
      "--dns-annotation <key>",
      "annotation on VirtualServices that lists external-dns names",
      "external-dns.alpha.kubernetes.io/controller",
    )
    .option("--no-failover", "do not run failover")
    .option(
      "--failover-namespaces <names>",
      "comma-separated namespaces whose FailoverPolicies may use resources in every namespace, or * for all; others need the annotation plumbline.dev/failover-policies on the Namespace",
      listOf,
    )
    .option("--health-address <address>", "address for /livez, /readyz and /metrics", ":8080")
    .option(
      "--webhook-mode <mode>",
      `${WEBHOOK_MODES.join(", ")}; onlywebhook leaves everything else to other processes`,
      oneOf(WEBHOOK_MODES),
      "enabled",
    )
    .addOption(
      new Option("--webhook-address <address>", "address of the validating webhook (TLS)")
        .argParser(address)
        .default(address(":9443"), ":9443"),
    )
    .addOption(clusterPageOption())
    .option("--identity <name>", "holder identity written into the Lease", process.env["POD_NAME"] ?? hostname())
    .addHelpText("after", "\nExample:\n  plumbline controller --kubeconfig admin.kubeconfig --health-address 127.0.0.1:8080\n")
    .action(run);
}

async function run(options: ControllerOptions): Promise<void> {
  const log = createLog({ level: options.logLevel });
  const client = await connectToCluster(options);
  await assertUsable(client, options.namespace);

  const { namespace, webhookMode } = options;
  const leader = new LeaderElector({ client, namespace, name: CONTROLLER_LEASE, identity: options.identity, log });
  const leads = webhookMode !== "onlywebhook";
  const manager = new Manager({ client, log, healthAddress: options.healthAddress, ...(leads ? { leader } : {}) });
  if (webhookMode !== "disabled")
    addWebhooks({ manager, client, log, namespace, metallbNamespace: options.metallbNamespace, ...options.webhookAddress });
  if (leads) {
    addControllerComponents({
      manager,
      client: client.fenced(() => leader.assertLeading()),
      log,
      namespace,
      routerNamespace: options.routerNamespace,
      loadBalancer: {
        namespace: options.metallbNamespace,
        ...(options.lbClass === undefined ? {} : { lbClass: options.lbClass }),
        ...(options.ignoreExcludeLb && { ignoreExcludeLb: true }),
      },
      ...(options.agents === undefined ? {} : { agents: options.agents }),
      dnsAnnotation: options.dnsAnnotation,
      failover: options.failover,
      ...(options.failoverNamespaces && { failoverNamespaces: options.failoverNamespaces }),
      waitForOldWrites: (signal) => leader.waitForOldWrites(signal),
    });
    // Every replica serves the page: it only reads, and the Service may pick any of them.
    const { pageAddress: address, routerNamespace, metallbNamespace } = options;
    if (address) {
      const { addClusterPage } = await import("../dashboard/cluster-page.ts");
      void addClusterPage({ manager, client, log, namespace, namespaces: { routerNamespace, metallbNamespace }, address });
    }
  }
  await manager.run(new AbortController().signal);
}

/** Throws at once what a retry does not fix: no server, an untrusted certificate, a missing right. */
async function assertUsable(client: KubeClient, namespace: string): Promise<void> {
  try {
    await client.resource(Lease).get(CONTROLLER_LEASE, { namespace, signal: AbortSignal.timeout(30_000) });
  } catch (error) {
    if (isKubeError(error, "NotFound")) return;
    client.close();
    throw error;
  }
}

function listOf(text: string): string[] {
  const names = text.split(",").map((name) => name.trim());
  const wrong = names.find((name) => name !== "*" && !/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(name));
  if (wrong !== undefined) throw new InvalidArgumentError(`${JSON.stringify(wrong)} is not a valid namespace name.`);
  return names;
}

function address(text: string): { host?: string; port: number } {
  const [, host = "", port = ""] = /^(.*):(\d{1,5})$/.exec(text) ?? [];
  if (port === "" || Number(port) > 65535) throw new InvalidArgumentError("Must be host:port, or :port for all addresses.");
  return { ...(host === "" ? {} : { host: host.replace(/^\[(.*)\]$/, "$1") }), port: Number(port) };
}
