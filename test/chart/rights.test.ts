import { dirname } from "node:path";
import { expect, test } from "vitest";
import { containersOf, rendered } from "../support/chart.ts";
import { LAUNCHER } from "../support/command-line.ts";
import { run } from "../support/frr.ts";

/**
 * A machine on which the containers of FRR and of the agent run as Kubernetes runs them: with the capabilities of the chart and no others, on an image and settings of the
 * kernel that they cannot write, each with process numbers of its own.
 */
const MACHINE = `
set -eu
mount --make-rprivate /
# Wherever the checkout is, what is mounted next does not hide it.
mount --bind "$CHECKOUT" /mnt
PLUMBLINE=/mnt/plumbline
for path in /run /var/lib/plumbline /var/tmp /tmp; do mkdir -p $path; mount -t tmpfs plumbline $path; done
mkdir -p /run/netns /run/frr /run/lock /tmp/site
exec 2>/tmp/machine.log
ip link set lo up
ip link add eth1 type veth peer name fabric
ip addr add 192.168.11.3/24 dev eth1
printf '%s' "$SITE" >/tmp/site/site.yaml
export TERM=dumb XDG_RUNTIME_DIR=/tmp
"$PLUMBLINE" up --dir /tmp/site --listen 127.0.0.1:7443 --page-address off >/tmp/up.log 2>&1 &
for attempt in $(seq 600); do grep -q KUBECONFIG= /tmp/up.log && break; sleep 0.1; done
export KUBECONFIG=$(sed -n 's/.*KUBECONFIG=//p' /tmp/up.log) NODE_NAME=n1

[ -z "$PREPARE" ] || "$PLUMBLINE" $PREPARE
mount --bind / /
mount -o remount,ro,bind /
cat >/tmp/container.sh <<'END'
mount --bind /proc/sys /proc/sys
mount -o remount,ro,bind /proc/sys
rights=$1
shift
exec setpriv --groups "$(getent group frrvty | cut -d: -f3)" --bounding-set="$rights" --inh-caps=-all "$PLUMBLINE" "$@"
END
unshare --pid --fork --mount-proc --kill-child sh /tmp/container.sh $FRR >/tmp/frr.log 2>&1 &
unshare --pid --fork --mount-proc --kill-child sh /tmp/container.sh $AGENT >/tmp/agent.log 2>&1 &
agent=$!

has() {
  vtysh --vty_socket /run/frr/plumbline-$1 -c 'show running-config' 2>/dev/null | grep -o "$2" | sort -u | grep .
}
await() {
  for attempt in $(seq 200); do has "$@" && return; sleep 0.1; done
  tail -n 3 /tmp/*.log
  exit 1
}
eval "$OBSERVE"
eval "$PROBE" >/dev/null && echo "FRR is ready"
kill -KILL $agent
wait $agent || echo "the agent is gone"
kill -KILL $(pgrep -f 'bgpd .*plumbline-lb')
await lb 'router bgp 64600'
`;

const SITE = `
apiVersion: v1
kind: Node
metadata: { name: n1 }
---
apiVersion: openpe.openperouter.github.io/v1alpha1
kind: Underlay
metadata: { name: fabric, namespace: openperouter-system }
spec:
  asn: 64514
  nics: [eth1]
  neighbors: [{ asn: 64512, address: 192.168.11.2 }]
---
apiVersion: metallb.io/v1beta2
kind: BGPPeer
metadata: { name: tor, namespace: metallb-system }
spec: { myASN: 64600, peerASN: 64512, peerAddress: 192.168.11.2 }
`;

/** What the machine says with the containers that these values give. */
async function onMachine(values: Record<string, unknown>, observe: string): Promise<string[]> {
  const containers = containersOf(await rendered(values));
  const confined = (name: string) => {
    const { args = [], securityContext } = containers.get(name) ?? {};
    const rights = securityContext?.capabilities?.add?.map((right) => `+${right.toLowerCase()}`) ?? [];
    // The kubelet puts in the addresses of the node.
    return [["-all", ...rights].join(","), ...args].join(" ").replace("$(HOST_IPS)", "127.0.0.1");
  };
  const environment = {
    CHECKOUT: dirname(LAUNCHER),
    PLUMBLINE: "",
    SITE,
    OBSERVE: observe,
    PROBE: (containers.get("plumbline-frr/frr")?.readinessProbe?.exec?.command ?? []).map((arg) => `'${arg}'`).join(" "),
    PREPARE: (containers.get("plumbline-frr/namespace")?.args ?? []).join(" "),
    FRR: confined("plumbline-frr/frr"),
    AGENT: confined("plumbline-agent/agent"),
  };
  const settings = Object.entries(environment).map(([name, value]) => `${name}=${value}`);
  const namespaces = ["--net", "--mount", "--pid", "--fork", "--mount-proc", "--kill-child"];
  return (await run("unshare", ...namespaces, "env", ...settings, "bash", "-c", MACHINE)).trim().split("\n");
}

test("with the rights of the chart the agent configures FRR in another container, which keeps running without it", async () => {
  const observe = "await router 'router bgp 64514'; await router 'neighbor 192.168.11.2 remote-as 64512'; await lb 'router bgp 64600'";
  expect(await onMachine({}, observe)).toEqual([
    "router bgp 64514",
    "neighbor 192.168.11.2 remote-as 64512",
    "router bgp 64600",
    "FRR is ready",
    "the agent is gone",
    "router bgp 64600",
  ]);
});

test("without a router the agent needs no more than the network's rights", async () => {
  expect(await onMachine({ "router.enabled": false }, "await lb 'router bgp 64600'")).toEqual([
    "router bgp 64600",
    "FRR is ready",
    "the agent is gone",
    "router bgp 64600",
  ]);
});
