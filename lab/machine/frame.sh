#!/bin/sh
# In a network namespace of its own: a link to the namespace of the lab's starter, then the machine, in a process namespace of its own
# so that nothing of it outlives this process.
# Usage: frame.sh uml|own STARTER-PID LINK OUTSIDE-ADDRESS/LENGTH COMMAND...
set -eu
where=$1 starter=$2 link=$3 address=$4
shift 4
# What fails is told apart by the last of these lines (start-problem.ts).
doing() { echo "frame: $*"; }
outside() { nsenter --net="/proc/$starter/ns/net" -- "$@"; }

doing "create the lab's network"
ip link set lo up
ip link add up0 type veth peer name "$link" netns "$starter"
# The cleanup after a killed lab finds the link by this.
outside ip link set "$link" alias "plumbline lab $PLUMBLINE_LAB_HOLDER"
outside ip address add "$address" dev "$link"
outside ip link set "$link" up
ip link set up0 up
if [ "$where" = uml ]; then
  # In the root namespace of some machines ARP on a tap stays unanswered; here it is answered.
  doing "create a tap device"
  ip tuntap add tap0 mode tap
  doing "create the lab's network"
  ip link add br0 type bridge
  ip link set tap0 master br0 up
  ip link set up0 master br0
  ip link set br0 up
  doing boot
  # Not as the first process of its namespace: the kernel would ignore the signal with which User-Mode Linux ends itself after a panic.
  exec unshare --pid --fork --kill-child -- sh -c '"$@"; exit $?' sh "$@"
fi
doing boot
exec unshare --mount --pid --fork --kill-child --mount-proc -- "$@"
