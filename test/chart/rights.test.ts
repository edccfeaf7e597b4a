import { dirname } from "node:path";
import { expect, test } from "vitest";
import { containersOf, rendered, type Rendered } from "../support/chart.ts";
import { LAUNCHER } from "../support/command-line.ts";
import { run } from "../support/frr.ts";

/**
 * A machine on which the containers of FRR and of the agent run as Kubernetes runs them: with the capabilities of the chart and no others, on an image that they
 * cannot write, with no more of the kernel's settings than the chart mounts, each with process numbers of its own.
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
# As the runtime does it: mounts of the node first, from its own view.
[ "$1" = none ] || { mkdir -p "$2"; mount --bind "$1" "$2"; }
mount --bind /proc/sys /proc/sys
mount -o remount,ro,bind /proc/sys
rights=$3
shift 3
exec setpriv --groups "$(getent group frrvty | cut -d: -f3)" --bounding-set="$rights" --inh-caps=-all "$@"
END
container() { exec unshare --pid --fork --mount-proc --kill-child sh /tmp/container.sh "$@"; }
container none none $FRR_RIGHTS "$PLUMBLINE" $FRR >/tmp/frr.log 2>&1 &
container $SYSCTLS $AGENT_RIGHTS "$PLUMBLINE" $AGENT >/tmp/agent.log 2>&1 &
agent=$!

has() {
  vtysh --vty_socket /run/frr/plumbline-$1 -c 'show running-config' 2>/dev/null | grep -o "$2" | sort -u | grep .
}
await() {
  for attempt in $(seq 600); do has "$@" && return; sleep 0.1; done
  tail -n 3 /tmp/*.log
  exit 1
}
in_router() { nsenter --net=/run/netns/perouter -- "$@"; }
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
  const objects = await rendered(values);
  const containers = containersOf(objects);
  const rights = (name: string) => {
    const { add = [] } = containers.get(name)?.securityContext?.capabilities ?? {};
    return ["-all", ...add.map((right) => `+${right.toLowerCase()}`)].join(",");
  };
  // The kubelet puts in the addresses of the node.
  const args = (name: string) => (containers.get(name)?.args ?? []).join(" ").replace("$(HOST_IPS)", "127.0.0.1");
  const environment = {
    CHECKOUT: dirname(LAUNCHER),
    PLUMBLINE: "",
    SITE,
    OBSERVE: observe,
    PROBE: (containers.get("plumbline-frr/frr")?.readinessProbe?.exec?.command ?? []).map((arg) => `'${arg}'`).join(" "),
    PREPARE: args("plumbline-frr/namespace"),
    FRR: args("plumbline-frr/frr"),
    FRR_RIGHTS: rights("plumbline-frr/frr"),
    AGENT: args("plumbline-agent/agent"),
    AGENT_RIGHTS: rights("plumbline-agent/agent"),
    SYSCTLS: kernelMounts(objects, "plumbline-agent").join(" ") || "none none",
  };
  const settings = Object.entries(environment).map(([name, value]) => `${name}=${value}`);
  const namespaces = ["--net", "--mount", "--pid", "--fork", "--mount-proc", "--kill-child"];
  return (await run("unshare", ...namespaces, "env", ...settings, "bash", "-c", MACHINE)).trim().split("\n");
}

interface Pod {
  readonly volumes?: readonly { readonly name: string; readonly hostPath?: { readonly path: string } }[];
  readonly containers: readonly { readonly volumeMounts?: readonly { readonly name: string; readonly mountPath: string }[] }[];
}

/** What a pod mounts of the kernel's own file systems, as `PATH MOUNTPATH`. */
function kernelMounts(objects: readonly Rendered[], name: string): string[] {
  const spec = objects.find(({ kind, metadata }) => kind === "DaemonSet" && metadata.name === name)?.["spec"];
  const { volumes = [], containers } = (spec as { template: { spec: Pod } }).template.spec;
  return volumes.flatMap(({ name: volume, hostPath: { path } = { path: "" } }) => {
    const mounts = containers.flatMap(({ volumeMounts = [] }) => volumeMounts.filter((mount) => mount.name === volume));
    return /^\/(?:proc|sys)\b/.test(path) ? mounts.map(({ mountPath }) => `${path} ${mountPath}`) : [];
  });
}

test("with the permissions of the chart the agent configures FRR in another container, which runs without it", async () => {
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

test("without a router the agent needs only network capabilities", async () => {
  expect(await onMachine({ "router.enabled": false }, "await lb 'router bgp 64600'")).toEqual([
    "router bgp 64600",
    "FRR is ready",
    "the agent is gone",
    "router bgp 64600",
  ]);
});

/** The settings that the container of the agent could write, by their first two directories. */
const WRITABLE = `(container $SYSCTLS $AGENT_RIGHTS find /proc/sys /run/plumbline -type f -writable) | cut -d/ -f-5 | sort -u`;

test("the agent can write only network sysctls, and reverts a changed one", async () => {
  const repair = `
    await router 'router bgp 64514'
    ${WRITABLE}
    in_router sysctl -w net.ipv4.ip_forward=0 net.ipv4.conf.eth1.rp_filter=1
    # The agent looks at everything when a link appears.
    in_router ip link add seen type bridge
    for attempt in $(seq 600); do in_router sysctl -n net.ipv4.ip_forward | grep -q 1 && break; sleep 0.1; done
    in_router sysctl net.ipv4.ip_forward net.ipv4.conf.eth1.rp_filter
    sysctl net.ipv4.ip_forward`;
  expect(await onMachine({}, repair)).toEqual([
    "router bgp 64514",
    "/run/plumbline/sys/net",
    "net.ipv4.ip_forward = 0",
    "net.ipv4.conf.eth1.rp_filter = 1",
    "net.ipv4.ip_forward = 1",
    "net.ipv4.conf.eth1.rp_filter = 0",
    // The node's own.
    "net.ipv4.ip_forward = 0",
    "FRR is ready",
    "the agent is gone",
    "router bgp 64600",
  ]);
});
