import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { LAUNCHER } from "../support/command-line.ts";
import { run } from "../support/frr.ts";

/** Isolated namespaces, daemons and files: `up --loadbalancer` uses fixed names. */
const MACHINE = `
set -eu
mount --make-rprivate /
mount -t tmpfs plumbline /run
mkdir -p /run/netns /run/frr /run/lock /var/lib/plumbline
mount -t tmpfs plumbline /var/lib/plumbline
ip link set lo up
ip link add eth1 type veth peer name fabric
ip addr add 192.168.11.3/24 dev eth1
ip link set eth1 up
ip link set fabric up
ip route add default via 192.168.11.2
export TERM=dumb
"$PLUMBLINE" up --dir "$SITE" --loadbalancer >"$SITE.log" 2>&1 &
up=$!
trap 'kill -KILL $up 2>/dev/null; "$PLUMBLINE" loadbalancer clean --yes >/dev/null' EXIT
for attempt in $(seq 600); do
  if ip addr show dev plumbline-vip 2>/dev/null | grep -q 192.168.11.200 && vtysh -N plumbline-lb -c "show running-config" 2>/dev/null | grep -q "network 192.168.11.200/32"; then break; fi
  sleep 0.1
done
"$PLUMBLINE" get service -A --dir "$SITE"
for attempt in $(seq 100); do
  if "$PLUMBLINE" get servicel2statuses,servicebgpstatuses,configurationstates -A -o name --dir "$SITE" 2>/dev/null | grep -q web-; then break; fi
  sleep 0.1
done
"$PLUMBLINE" get servicel2statuses,servicebgpstatuses,configurationstates -A -o name --dir "$SITE"
kill -TERM $up
wait $up
echo "up ended with $?"
tail -1 "$SITE.log"
"$PLUMBLINE" loadbalancer clean --yes
trap - EXIT
if ip link show plumbline-vip 2>/dev/null; then exit 1; fi
ip -br address show dev eth1
nft list tables
ls -A /run/frr /var/lib/plumbline
`;

const SITE = `
apiVersion: metallb.io/v1beta1
kind: IPAddressPool
metadata: { name: edge, namespace: metallb-system }
spec: { addresses: [192.168.11.200-192.168.11.210] }
---
apiVersion: metallb.io/v1beta1
kind: L2Advertisement
metadata: { name: edge, namespace: metallb-system }
---
apiVersion: metallb.io/v1beta2
kind: BGPPeer
metadata: { name: tor, namespace: metallb-system }
spec: { myASN: 64515, peerASN: 64512, peerAddress: 192.168.11.2 }
---
apiVersion: metallb.io/v1beta1
kind: BGPAdvertisement
metadata: { name: edge, namespace: metallb-system }
---
apiVersion: v1
kind: Namespace
metadata: { name: shop }
---
apiVersion: v1
kind: Service
metadata: { name: web, namespace: shop }
spec:
  type: LoadBalancer
  clusterIP: 10.96.0.10
  ports: [{ port: 80 }]
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: { name: web-1, namespace: shop, labels: { kubernetes.io/service-name: web } }
addressType: IPv4
ports: [{ port: 80 }]
endpoints: [{ addresses: [10.244.0.5], conditions: { ready: true } }]
`;

test("up --loadbalancer announces Services from its machine, and clean removes everything", async () => {
  const directory = await mkdtemp(join(tmpdir(), "plumbline-up-loadbalancer-"));
  onTestFinished(() => rm(directory, { recursive: true }));
  const site = join(directory, "site");
  await mkdir(site);
  await writeFile(join(site, "site.yaml"), SITE);
  const host = (await run("hostname")).trim();
  const output = await run("unshare", "-n", "-m", "env", `PLUMBLINE=${LAUNCHER}`, `SITE=${site}`, "sh", "-c", MACHINE);
  expect(output).toMatch(/^shop +web +LoadBalancer +10\.96\.0\.10 +192\.168\.11\.200 /m);
  expect(output).toContain("servicel2status.metallb.io/web\n");
  expect(output).toContain(`servicebgpstatus.metallb.io/web-${host}\n`);
  expect(output).toContain(`configurationstate.metallb.io/speaker-${host}\n`);
  expect(output).toMatch(/up ended with 0\nAnnouncements stay. To remove them: .*loadbalancer clean --yes\n/);
  expect(output).toContain("Delete service address 192.168.11.200 on plumbline-vip\nDelete link plumbline-vip\n");
  expect(output).toMatch(/eth1@fabric +UP +192\.168\.11\.3\/24 fe80::\S+ \n\/run\/frr:\n\n\/var\/lib\/plumbline:\n$/);
});
