import { Background } from "../background.ts";
import { APPLICATION, type SiteName, SITES } from "../sites/names.ts";
import { FailoverPolicy } from "../../src/api/failover/failover-policy.ts";
import { accessFromKubeconfig } from "../../src/kube/client/access.ts";
import { KubeClient } from "../../src/kube/client/client.ts";

/** What other commands need to know of a lab of two sites that runs. */
export interface RunningSites {
  /** With a context for each site. */
  readonly kubeconfig: string;
  readonly directory: string;
  readonly urls: Readonly<Record<SiteName, string>>;
}

export const sitesInBackground = new Background<RunningSites>("lab-sites", "lab of two sites");

const WIDTHS = [8, 12, 12, 11, 13];

/** What one site says of the application. */
export interface SiteLine {
  readonly site: SiteName;
  readonly url: string;
  readonly desired: string;
  readonly current: string;
  readonly complete: string;
  readonly token: string;
  readonly summary: string;
}

export function siteClient({ kubeconfig }: RunningSites, context: SiteName): Promise<KubeClient> {
  return accessFromKubeconfig({ path: kubeconfig, context }).then((access) => new KubeClient(access));
}

export function siteLines(running: RunningSites, signal: AbortSignal): Promise<SiteLine[]> {
  return Promise.all(
    SITES.map(async (site) => {
      const client = await siteClient(running, site);
      try {
        const { spec, status } = await client
          .resource(FailoverPolicy)
          .get(APPLICATION.policy, { namespace: APPLICATION.namespace, signal });
        const complete = status?.conditions?.find(({ type }) => type === "Complete");
        return {
          site,
          url: running.urls[site],
          desired: spec.desiredState,
          current: status?.currentState ?? "",
          complete: complete?.status ?? "",
          token: status?.token ? `${status.token.state} ${status.token.epoch}` : "",
          summary: status?.summary ?? "",
        };
      } finally {
        client.close();
      }
    }),
  );
}

export function sitesTable(running: RunningSites, lines: readonly SiteLine[]): string {
  return [
    `Two sites, KUBECONFIG=${running.kubeconfig}`,
    `Logs in ${running.directory}`,
    "",
    row(["SITE", "DESIRED", "CURRENT", "COMPLETE", "TOKEN", "WHERE"]),
    ...lines.map(({ site, desired, current, complete, token, summary }) =>
      row([site, desired, current, complete, token, summary]).trimEnd(),
    ),
  ].join("\n");
}

function row(cells: readonly string[]): string {
  return cells.map((cell, index) => cell.padEnd(WIDTHS[index] ?? 0)).join("");
}
