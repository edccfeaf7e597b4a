import { CHECK_RESOURCE_FAULTS } from "./faults/check-resources.ts";
import { CONNECTIVITY_FAULTS } from "./faults/connectivity.ts";
import type { Fault } from "./faults/fault.ts";
import { POLICY_FAULTS } from "./faults/policies.ts";
import { ROUTER_FAULTS } from "./faults/router.ts";
import { ROUTER_RESOURCE_FAULTS } from "./faults/router-resources.ts";
import { SERVICE_FAULTS } from "./faults/services.ts";
import { SERVICE_RESOURCE_FAULTS } from "./faults/service-resources.ts";

/** Everything that `lab break` knows, by name. */
export const FAULTS: Readonly<Record<string, Fault>> = {
  ...ROUTER_FAULTS,
  ...SERVICE_FAULTS,
  ...CONNECTIVITY_FAULTS,
  ...ROUTER_RESOURCE_FAULTS,
  ...SERVICE_RESOURCE_FAULTS,
  ...CHECK_RESOURCE_FAULTS,
  ...POLICY_FAULTS,
};
