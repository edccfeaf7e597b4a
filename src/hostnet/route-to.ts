import { KernelError } from "./error.ts";
import { ip } from "./run.ts";

export interface RouteTo {
  readonly device: string;
  readonly source?: string;
  readonly gateway?: string;
}

interface PrintedRoute {
  readonly dev?: string;
  readonly prefsrc?: string;
  readonly gateway?: string;
}

/** Undefined if there is no route. */
export async function routeTo(address: string, namespace: string | undefined, signal: AbortSignal): Promise<RouteTo | undefined> {
  try {
    const [route] = JSON.parse(await ip(namespace, ["-j", "route", "get", address], { signal })) as PrintedRoute[];
    if (route?.dev === undefined) return undefined;
    return {
      device: route.dev,
      ...(route.prefsrc !== undefined && { source: route.prefsrc }),
      ...(route.gateway !== undefined && { gateway: route.gateway }),
    };
  } catch (error) {
    if (error instanceof KernelError && error.code === "Rejected") return undefined;
    throw error;
  }
}
