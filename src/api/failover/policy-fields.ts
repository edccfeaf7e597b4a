import { s } from "../schema.ts";

/** The kinds that a policy can switch. */
export const MANAGED_KINDS = [
  "VolumeReplication",
  "Deployment",
  "StatefulSet",
  "CronJob",
  "VirtualService",
  "HelmRelease",
  "Kustomization",
  "Application",
  "VolumeGroupReplication",
] as const;
export type ManagedKind = (typeof MANAGED_KINDS)[number];

// Fields of spec and status.
export const name = (doc: string) => s.string({ doc, minLength: 1, maxLength: 253 });
export const kind = () => s.enum(MANAGED_KINDS, { doc: "Its kind." });
export const role = (doc: string) => s.enum(["primary", "secondary"], { doc });
