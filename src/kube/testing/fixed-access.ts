import type { ClusterAccess, Credential } from "../client/access.ts";

export function fixedAccess(
  server: string,
  identity: Credential = {},
  rest: Omit<ClusterAccess, "server" | "identity" | "describe"> & { describe?: string } = {},
): ClusterAccess {
  return { describe: server, ...rest, server, identity: () => Promise.resolve(identity) };
}
