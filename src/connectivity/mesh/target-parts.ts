import type { Service } from "../../api/core/service.ts";
import { allowAnnotation } from "../../api/annotations.ts";
import type { CheckTarget } from "./desired-check.ts";

/** The targets of one entry of a mesh, or why there are none. */
export interface Found {
  readonly targets: readonly CheckTarget[];
  readonly problem?: string;
  readonly notObserved?: readonly NotObserved[];
}

/** An announced Service that cannot be checked. */
export interface NotObserved {
  /** `namespace/name` */
  readonly service: string;
  readonly reason: "NoTCPPort" | "SourceRanges";
}

export type Port = number | string | undefined;

export function isTcpPort(wanted: Port): (port: { name?: string; port: number; protocol?: string }) => boolean {
  return ({ name, port, protocol = "TCP" }) =>
    protocol === "TCP" && (wanted === undefined || name === wanted || String(port) === String(wanted));
}

export function familyOf(ip: string): 4 | 6 {
  return ip.includes(":") ? 6 : 4;
}

export function endpointOf(ip: string, port: number): string {
  return familyOf(ip) === 6 ? `[${ip}]:${port}` : `${ip}:${port}`;
}

export function none(problem: string): Found {
  return { targets: [], problem };
}

export function allowsMeshesOf(namespace: string, { metadata }: Service): boolean {
  const allowed = metadata.annotations?.[allowAnnotation]?.split(",").map((one) => one.trim()) ?? [];
  return allowed.includes("*") || allowed.includes(namespace);
}
