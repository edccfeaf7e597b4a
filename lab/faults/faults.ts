import { CHECK_RESOURCE_FAULTS } from "./check-resources.ts";
import { CONNECTIVITY_FAULTS } from "./connectivity.ts";
import type { Fault } from "./fault.ts";
import { PATH_FAULTS } from "./paths.ts";
import { POLICY_FAULTS } from "./policies.ts";
import { ROUTER_FAULTS } from "./router.ts";
import { ROUTER_RESOURCE_FAULTS } from "./router-resources.ts";
import { SERVICE_FAULTS } from "./services.ts";
import { SERVICE_RESOURCE_FAULTS } from "./service-resources.ts";

/** Everything that `lab break` knows, by name. */
export const FAULTS: Readonly<Record<string, Fault>> = {
  ...ROUTER_FAULTS,
  ...PATH_FAULTS,
  ...SERVICE_FAULTS,
  ...CONNECTIVITY_FAULTS,
  ...ROUTER_RESOURCE_FAULTS,
  ...SERVICE_RESOURCE_FAULTS,
  ...CHECK_RESOURCE_FAULTS,
  ...POLICY_FAULTS,
};
