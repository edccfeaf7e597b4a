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
import { addControllerParts } from "../shared/controller-components.ts";
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
    .option("--namespace <name>", "for Plumbline's own objects", "plumbline-system")
    .option("--router-namespace <name>", "where the router's configuration and statuses are", "openperouter-system")
    .option("--metallb-namespace <name>", "where the load balancer's configuration and statuses are", "metallb-system")
    .option("--lb-class <class>", "serve the Services of this loadBalancerClass; left out, those without one")
    .option("--ignore-exclude-lb", "the agents run with this option, so nodes labelled to be left out announce Services")
    .option("--agents <daemonset>", "the DaemonSet of the agents; leave out where agents are no Pods")
    .option(
      "--dns-annotation <key>",
      "the annotation of VirtualServices that tells external-dns which names are its own",
      "external-dns.alpha.kubernetes.io/controller",
    )
    .option("--no-failover", "leave FailoverPolicies alone")
    .option(
      "--failover-namespaces <names>",
      "namespaces whose FailoverPolicies may name resources in every namespace, separated by commas, or * for all; others need the annotation plumbline.dev/failover-policies on the Namespace",
      listOf,
    )
    .option("--health-address <address>", "/livez, /readyz and /metrics are served here", ":8080")
    .option(
      "--webhook-mode <mode>",
      `${WEBHOOK_MODES.join(", ")}; onlywebhook leaves everything else to other processes`,
      oneOf(WEBHOOK_MODES),
      "enabled",
    )
    .addOption(
      new Option("--webhook-address <address>", "API servers ask here, over TLS, whether a write is valid")
        .argParser(address)
        .default(address(":9443"), ":9443"),
    )
    .addOption(clusterPageOption())
    .option("--identity <name>", "who holds the Lease, for people to read", process.env["POD_NAME"] ?? hostname())
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
    addControllerParts({
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
      settle: (signal) => leader.settle(signal),
    });
    // Every replica serves it: it only reads, and whoever the Service picks must answer.
    const { pageAddress: address, routerNamespace, metallbNamespace } = options;
    if (address) {
      const { addClusterPage } = await import("../dashboard/cluster-page.ts");
      void addClusterPage({ manager, client, log, namespace, places: { routerNamespace, metallbNamespace }, address });
    }
  }
  await manager.run(new AbortController().signal);
}

/** Says at once, in one sentence, what would otherwise be a retry in the log for ever: no server, no trust, no right. */
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
  if (wrong !== undefined) throw new InvalidArgumentError(`${JSON.stringify(wrong)} is not the name of a namespace.`);
  return names;
}

function address(text: string): { host?: string; port: number } {
  const [, host = "", port = ""] = /^(.*):(\d{1,5})$/.exec(text) ?? [];
  if (port === "" || Number(port) > 65535) throw new InvalidArgumentError("It is host:port, or :port for all addresses.");
  return { ...(host === "" ? {} : { host: host.replace(/^\[(.*)\]$/, "$1") }), port: Number(port) };
}
