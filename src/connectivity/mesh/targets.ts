import type { EndpointSlice } from "../../api/core/endpoint-slice.ts";
import { selects } from "../../api/core/label-selector.ts";
import type { Node } from "../../api/core/node.ts";
import type { Service } from "../../api/core/service.ts";
import type { ConnectivityMesh } from "../../api/connectivity/connectivity-mesh.ts";
import type { CheckTarget } from "./wanted-check.ts";

/** What a mesh is planned on. Keys of Services are `namespace/name`. */
export interface TargetView {
  readonly nodes: readonly Node[];
  service(key: string): Service | undefined;
  slices(key: string): readonly EndpointSlice[];
}

type Target = ConnectivityMesh["spec"]["targets"][number];

/** The targets of one entry of a mesh, or why there are none. */
export function targetsOf(target: Target, namespace: string, view: TargetView): { targets: CheckTarget[]; problem?: string } {
  if (target.service) return ofService(`${target.service.namespace ?? namespace}/${target.service.name}`, target.service.port, view);
  if (target.endpoints)
    return ofEndpoints(`${target.endpoints.namespace ?? namespace}/${target.endpoints.service}`, target.endpoints.port, view);
  if (target.nodes) return ofNodes(target.nodes, view);
  const host = target.host ?? "";
  return { targets: [{ identity: `host/${host}`, readable: dashed(host), endpoint: host, what: "host" }] };
}

function ofService(key: string, port: number | string | undefined, view: TargetView): ReturnType<typeof targetsOf> {
  const service = view.service(key);
  if (!service) return none(`Service ${key} does not exist`);
  const addresses = (service.spec.clusterIPs ?? [service.spec.clusterIP ?? ""]).filter((ip) => ip !== "" && ip !== "None");
  if (addresses.length === 0) return none(`Service ${key} has no cluster IP`);
  const ports = (service.spec.ports ?? []).filter(({ protocol }) => (protocol ?? "TCP") === "TCP").filter(isPort(port));
  if (ports.length === 0) return none(`Service ${key} has no TCP port${port === undefined ? "" : ` ${port}`}`);
  const name = key.slice(key.indexOf("/") + 1);
  const targets = addresses.flatMap((ip) =>
    ports.map(({ port: number }) => ({
      identity: `service/${key}/${number}/${ip.includes(":") ? 6 : 4}`,
      readable: `${name}-service-${number}`,
      endpoint: endpoint(ip, number),
      what: `service/${key}`,
    })),
  );
  return { targets };
}

function ofEndpoints(key: string, port: number | string | undefined, view: TargetView): ReturnType<typeof targetsOf> {
  const service = view.service(key);
  if (!service) return none(`Service ${key} does not exist`);
  const names = new Set((service.spec.ports ?? []).filter(isPort(port)).map(({ name }) => name ?? ""));
  const targets = view.slices(key).flatMap(({ addressType, endpoints, ports }) => {
    if (addressType === "FQDN") return [];
    // Both sides name the port; only the slice has the number that the pod listens on.
    const numbers = (ports ?? []).filter(({ protocol, name }) => (protocol ?? "TCP") === "TCP" && names.has(name ?? ""));
    const ready = (endpoints ?? []).filter(({ conditions }) => conditions?.ready ?? true);
    return ready.flatMap(({ addresses, nodeName, targetRef }) =>
      addresses.flatMap((ip) =>
        numbers.flatMap(({ port: number }): CheckTarget[] => {
          if (number === undefined) return [];
          const pod = targetRef?.kind === "Pod" ? targetRef.name : undefined;
          const where = endpoint(ip, number);
          return [
            {
              identity: `endpoint/${where}`,
              readable: `${pod ?? `${dashed(key)}-${dashed(ip)}`}-${number}`,
              endpoint: where,
              what: `endpoint/${key}`,
              ...(nodeName !== undefined && { node: nodeName }),
              ...(pod !== undefined && { pod }),
            },
          ];
        }),
      ),
    );
  });
  return targets.length > 0
    ? { targets }
    : none(`Service ${key} has no ready endpoint with a TCP port${port === undefined ? "" : ` ${port}`}`);
}

function ofNodes({ selector, port }: NonNullable<Target["nodes"]>, { nodes }: TargetView): ReturnType<typeof targetsOf> {
  const chosen = nodes.filter(({ metadata }) => selects(selector, metadata.labels ?? {}));
  if (chosen.length === 0) return none("no node has the labels that are asked for");
  const targets = chosen.flatMap(({ metadata: { name }, status }) =>
    (status?.addresses ?? [])
      .filter(({ type }) => type === "InternalIP")
      .map(({ address }) => ({
        identity: `node/${name}/${port}/${address.includes(":") ? 6 : 4}`,
        readable: `${name}-${port}`,
        endpoint: endpoint(address, port),
        what: `node/${name}`,
        node: name,
      })),
  );
  return targets.length > 0 ? { targets } : none("none of the nodes has an internal address");
}

function isPort(wanted: number | string | undefined): (port: { name?: string; port: number }) => boolean {
  return ({ name, port }) => wanted === undefined || name === wanted || String(port) === String(wanted);
}

function endpoint(ip: string, port: number): string {
  return ip.includes(":") ? `[${ip}]:${port}` : `${ip}:${port}`;
}

/** What may stand in a name. */
function dashed(text: string): string {
  return text
    .toLowerCase()
    .replaceAll(/[^a-z0-9.]+/g, "-")
    .replaceAll(/^[-.]+|[-.]+$/g, "");
}

function none(problem: string): { targets: CheckTarget[]; problem: string } {
  return { targets: [], problem };
}
