import type { FailoverToken, Role } from "../api/failover/failover-policy.ts";

/** What the other site's policy said when it was asked, or why it could not be. */
export type PeerView =
  | { readonly reachable: false; readonly message: string }
  | { readonly reachable: true; readonly exists: false }
  | { readonly reachable: true; readonly exists: true; readonly desiredState: Role; readonly token?: FailoverToken };
