import { CHECK_RESOURCE_FAULTS } from "../../../lab/faults/check-resources.ts";
import { CONNECTIVITY_FAULTS } from "../../../lab/faults/connectivity.ts";
import type { Fault } from "../../../lab/faults/fault.ts";
import { POLICY_FAULTS } from "../../../lab/faults/policies.ts";
import { ROUTER_FAULTS } from "../../../lab/faults/router.ts";
import { ROUTER_RESOURCE_FAULTS } from "../../../lab/faults/router-resources.ts";
import { SERVICE_FAULTS } from "../../../lab/faults/services.ts";
import { SERVICE_RESOURCE_FAULTS } from "../../../lab/faults/service-resources.ts";

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
