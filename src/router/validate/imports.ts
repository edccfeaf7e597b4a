import type { L3VNI } from "../../api/openpe/l3vni.ts";
import type { Underlay } from "../../api/openpe/underlay.ts";
import { routeTarget } from "./route-target.ts";

interface FarImport {
  readonly field: string;
  readonly message: string;
}

/**
 * What this L3VNI imports that only L3VNIs with other VNIs export. FRR 8.4 installs such routes and sends with the importing VRF's VNI, which the other end
 * drops; FRR 10 leaves them inactive. A target that no L3VNI exports may come from a router outside the cluster.
 */
export function farImports(l3vni: L3VNI, all: readonly L3VNI[], underlays: readonly Underlay[]): FarImport[] {
  const asns = underlays.map(({ spec }) => spec.asn);
  return (l3vni.spec.importRTs ?? []).flatMap((text, nth): FarImport[] => {
    const target = routeTarget(text);
    const exporters = target === undefined ? [] : all.filter(({ spec }) => exportsOf(spec, asns).has(target));
    if (exporters.length === 0 || exporters.some(({ spec }) => spec.vni === l3vni.spec.vni)) return [];
    const named = exporters.map(({ metadata, spec }) => `L3VNI ${metadata.name} (VNI ${spec.vni})`).sort();
    const message = `Route target ${target} is exported only by ${named.join(", ")}; FRR forwards no traffic from VNI ${l3vni.spec.vni} to another VNI. Use one VNI on different nodes, or connect the VRFs with an external router`;
    return [{ field: `spec.importRTs[${nth}]`, message }];
  });
}

function exportsOf({ vni, hostsession, exportRTs = [] }: L3VNI["spec"], asns: readonly number[]): ReadonlySet<string> {
  if (exportRTs.length > 0) return new Set(exportRTs.flatMap((text) => routeTarget(text) ?? []));
  const own = hostsession === undefined ? asns : [hostsession.asn];
  return new Set(own.map((asn) => `${asn % 65_536}:${vni}`));
}
