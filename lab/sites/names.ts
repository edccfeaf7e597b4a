import { join } from "node:path";

export const SITES = ["east", "west"] as const;
export type SiteName = (typeof SITES)[number];

/** Where the application and its policy are, at either site. */
export const APPLICATION = { namespace: "shop", policy: "shop" } as const;

/** Pods with this label stay when they are deleted, as on a node that does not answer. */
export const IGNORES_DELETION = "lab.plumbline.dev/refuses-to-die";

/** The kubeconfig by which the policies of a site read those of the other, in the lab's directory. */
export function peerFile(directory: string, site: SiteName): string {
  return join(directory, `${site}-peer.kubeconfig`);
}
