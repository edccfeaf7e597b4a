#!/bin/sh
# The first process of one host of the lab, in network, mount, process and name namespaces of its own.
# Usage: lab-host.sh NAME KEEP...
set -eu
. "${0%/*}/../machine/overlay-directory.sh"
hostname "$1"
shift
cover_all "$@"
ip link set lo up
echo ready
# Not exec: this shell also collects the orphans of others.
sleep infinity &
wait $!
