import { writeFileSync } from "node:fs";
import { join } from "node:path";

export const PER_FILE = 10;

export function pathOf(directory: string, file: number): string {
  return join(directory, `tenants-${file}.yaml`);
}

export function writeManifests(directory: string, files: number): void {
  for (let file = 0; file < files; file++) writeManifest(directory, file, vniOf(file * PER_FILE));
}

/** `vni` is that of the file's first object. It always has seven digits: a file that became shorter might be half written. */
export function writeManifest(directory: string, file: number, vni: number): void {
  const first = file * PER_FILE;
  const rest = Array.from({ length: PER_FILE - 1 }, (_, n) => tenant(first + n + 1, vniOf(first + n + 1)));
  writeFileSync(pathOf(directory, file), [tenant(first, vni), ...rest].join("---\n"));
}

const vniOf = (n: number) => 1_000_000 + n;

const tenant = (n: number, vni: number) => `apiVersion: openpe.openperouter.github.io/v1alpha1
kind: L3VNI
metadata:
  name: tenant-${n}
  namespace: openperouter-system
  labels:
    app.kubernetes.io/part-of: fabric
    tenant: "${n}"
spec:
  vrf: tenant-${n}
  vni: ${vni}
  exportRTs:
    - 64514:${vni}
  importRTs:
    - 64514:${vni}
    - 64514:1
  hostsession:
    asn: 64514
    hostasn: 64515
    localcidr:
      ipv4: 192.169.${n % 250}.0/24
      ipv6: 2001:db8:${n.toString(16)}::/64
  nodeSelector:
    matchLabels:
      kubernetes.io/os: linux
`;
