#!/bin/sh
# The first program inside the lab's machine, on either kernel: writable directories, the link to the outside, the control program.
set -eu
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root
here=${0%/*}
. "$here/overlay-directory.sh"
# A kernel whose first program ends only prints where it was.
[ "$LAB_KERNEL" != uml ] || trap 'poweroff -f' EXIT
uplink=up0
if [ "$LAB_KERNEL" = uml ]; then
  mount -t proc proc /proc
  mount -t sysfs sysfs /sys
  mkdir -p /dev/pts "$LAB_DIRECTORY"
  mount -t devpts -o mode=620,ptmxmode=666 devpts /dev/pts
  mount -t hostfs -o "$LAB_DIRECTORY" hostfs "$LAB_DIRECTORY"
  ip link set lo up
  uplink=vec0
fi
cover_all "$LAB_CHECKOUT" "$LAB_DIRECTORY" "$LAB_CACHE"
if [ -n "$LAB_MODULES" ]; then
  mkdir -p /run/uml/lib
  ln -s "$LAB_MODULES" /run/uml/lib/modules
  # What one kernel has as a module another has built in. Who starts the lab probes for what it needs.
  modprobe -d /run/uml -qa ipv6 bridge vxlan veth vrf dummy 8021q openvswitch sch_netem || true
fi

ip link add mgmt type bridge
ip link set "$uplink" master mgmt up
# Isolated ports do not reach each other: so a node can be cut off from the outside alone.
bridge link set dev "$uplink" isolated on
ip address add "$LAB_ADDRESS/24" dev mgmt
ip link set mgmt up

# Not exec: the first process of a machine must be one that also collects the orphans of others.
"$LAB_NODE" --disable-warning=ExperimentalWarning "$here/control.ts" "$LAB_ADDRESS" "$LAB_PORT" "$LAB_DIRECTORY/token" &
wait $!
