import type { Places } from "../explain/explainers.ts";
import type { AnyPainter } from "./model/row-builder.ts";
import { blamed } from "./rows/blame.ts";
import { checks } from "./rows/connectivity.ts";
import { policies } from "./rows/failover.ts";
import { pools, services, sessions } from "./rows/loadbalancer.ts";
import { domains, nodes } from "./rows/overview.ts";
import { routers } from "./rows/router.ts";

/** All that is painted, but for the causes. */
export function paintersOf(places: Places): readonly AnyPainter[] {
  return [nodes, domains(places), routers, pools, services, sessions, policies, checks, blamed];
}
