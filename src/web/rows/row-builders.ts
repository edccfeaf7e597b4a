import type { ConfigNamespaces } from "../../explain/explainers.ts";
import type { AnyRowBuilder } from "./row-builder.ts";
import { commonCausesRow } from "./common-causes.ts";
import { checks } from "./connectivity.ts";
import { policies } from "./failover.ts";
import { pools, services, sessions } from "./loadbalancer.ts";
import { domains, nodes } from "./overview.ts";
import { routers } from "./router.ts";

/** All that is painted, but for the causes. */
export function rowBuilders(namespaces: ConfigNamespaces): readonly AnyRowBuilder[] {
  return [nodes, domains(namespaces), routers, pools, services, sessions, policies, checks, commonCausesRow];
}
