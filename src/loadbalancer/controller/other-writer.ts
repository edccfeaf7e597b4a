import type { Service } from "../../api/core/service.ts";

/** Who wrote last what stands in the Service as its addresses, by the server's own account; undefined where it does not say. */
export function rivalIn({ metadata: { managedFields = [] } }: Service): string | undefined {
  const owners = (managedFields as Partial<Managed>[]).filter(
    ({ manager, fieldsV1 }) => manager && fieldsV1?.["f:status"]?.["f:loadBalancer"],
  );
  return owners.sort((a, b) => ((a.time ?? "") < (b.time ?? "") ? 1 : -1))[0]?.manager;
}

interface Managed {
  readonly manager: string;
  readonly time: string;
  readonly fieldsV1: { readonly "f:status"?: { readonly "f:loadBalancer"?: object } };
}
