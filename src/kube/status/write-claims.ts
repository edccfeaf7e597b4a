import { isDeepStrictEqual } from "node:util";
import { keyOf, type Kind, type KubeObject } from "../../api/kind.ts";
import type { KubeClient } from "../client/client.ts";
import type { Log } from "../log.ts";
import { claimRecords } from "../metrics.ts";
import { type WriteBudget, writeWithBudget } from "./budget.ts";

interface Recorded {
  readonly claim: string;
  readonly since: string;
}

/** An object whose status has claims. */
export type Claiming = KubeObject & { status?: { claims?: readonly Recorded[] } };

export interface ClaimsWriting {
  /** Fenced: only the leader records. */
  client: KubeClient;
  budget: WriteBudget;
  log: Log;
  signal: AbortSignal;
}

/** Writes only if the record differs. `release`: a claim was given up for good. */
export async function writeClaims(
  { client, budget, log, signal }: ClaimsWriting,
  kind: Kind,
  object: Claiming,
  { claims, release }: { claims: readonly Recorded[]; release: boolean },
): Promise<void> {
  const { resourceVersion, deletionTimestamp } = object.metadata;
  if (resourceVersion === undefined || deletionTimestamp !== undefined) return;
  if (isDeepStrictEqual(claims, object.status?.claims ?? [])) return;

  await writeWithBudget(budget, "claim", signal, async () => {
    await client.resource(kind).patchStatus(object.metadata, { status: { claims } }, { resourceVersion, signal });
    claimRecords.inc({ kind: kind.kind, action: release ? "released" : "recorded" });
    log.info({ kind: kind.kind, key: keyOf(object), claims: claims.length, release }, "claims recorded");
    return true;
  });
}
