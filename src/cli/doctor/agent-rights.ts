import type { EnabledComponents } from "./finding.ts";

/** In the terms of an RBAC rule. */
export interface Right {
  /** All namespaces, if there is none. */
  readonly namespace?: string;
  readonly group: string;
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
  readonly names?: readonly string[];
}

const READ = ["get", "list", "watch"] as const;
const KEEP = [...READ, "create", "update", "patch"] as const;
const REPORT = ["get", "update", "patch"] as const;
const TELL = ["create", "patch"] as const;

const OWN = "plumbline-system";
const METALLB = "metallb-system";
const ROUTER = "openperouter-system";

/** Written by the controllers. */
const REPORTS = ["controller", "config-status"] as const;

const ALWAYS: readonly Right[] = [
  { group: "", resources: ["nodes"], verbs: READ },
  { namespace: OWN, group: "coordination.k8s.io", resources: ["leases"], verbs: ["get", "create", "update", "patch"] },
  { namespace: OWN, group: "", resources: ["configmaps"], names: ["plumbline-members"], verbs: READ },
  { namespace: METALLB, group: "metallb.io", resources: ["configurationstates", "configurationstatuses"], names: REPORTS, verbs: ["get"] },
  {
    namespace: METALLB,
    group: "metallb.io",
    resources: ["configurationstates/status", "configurationstatuses/status"],
    names: REPORTS,
    verbs: ["patch"],
  },

  { group: "", resources: ["services", "namespaces"], verbs: READ },
  { group: "discovery.k8s.io", resources: ["endpointslices"], verbs: READ },
  { group: "metallb.io", resources: ["servicebgpstatuses", "servicel2statuses"], verbs: [...KEEP, "delete"] },
  { group: "metallb.io", resources: ["servicebgpstatuses/status", "servicel2statuses/status"], verbs: REPORT },
  { group: "", resources: ["events"], verbs: TELL },
  {
    namespace: METALLB,
    group: "metallb.io",
    resources: ["ipaddresspools", "bgppeers", "bfdprofiles", "bgpadvertisements", "l2advertisements", "communities"],
    verbs: READ,
  },
  { namespace: METALLB, group: "metallb.io", resources: ["configurationstates"], verbs: KEEP },
  { namespace: METALLB, group: "metallb.io", resources: ["bgpsessionstatuses"], verbs: [...KEEP, "delete"] },
  { namespace: METALLB, group: "metallb.io", resources: ["configurationstates/status", "bgpsessionstatuses/status"], verbs: REPORT },
  { namespace: METALLB, group: "", resources: ["secrets"], verbs: READ },
  { namespace: METALLB, group: "", resources: ["configmaps"], names: ["bgpextras"], verbs: READ },
  { namespace: OWN, group: "", resources: ["secrets"], names: ["plumbline-heartbeat"], verbs: READ },

  { namespace: OWN, group: "controlplane.operator.openshift.io", resources: ["podnetworkconnectivitychecks"], verbs: READ },
  { namespace: OWN, group: "controlplane.operator.openshift.io", resources: ["podnetworkconnectivitychecks/status"], verbs: ["patch"] },
  { namespace: OWN, group: "", resources: ["events"], verbs: TELL },
];

const OF_ROUTER: readonly Right[] = [
  {
    namespace: ROUTER,
    group: "openpe.openperouter.github.io",
    resources: ["underlays", "l2vnis", "l3vnis", "l3passthroughs", "rawfrrconfigs"],
    verbs: READ,
  },
  { namespace: ROUTER, group: "openpe.openperouter.github.io", resources: ["routernodeconfigurationstatuses"], verbs: KEEP },
  { namespace: ROUTER, group: "openpe.openperouter.github.io", resources: ["routernodeconfigurationstatuses/status"], verbs: REPORT },
  { namespace: ROUTER, group: "", resources: ["secrets"], verbs: ["get", "watch"] },
  { namespace: ROUTER, group: "", resources: ["events"], verbs: TELL },
];

export function agentRights({ router }: EnabledComponents): readonly Right[] {
  return router ? [...ALWAYS, ...OF_ROUTER] : ALWAYS;
}
