import type { Service } from "../../api/core/service.ts";

/** The field manager that last wrote the Service's addresses; undefined if the server does not record it. */
export function conflictingManager({ metadata: { managedFields = [] } }: Service): string | undefined {
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
