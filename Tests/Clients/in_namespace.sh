#!/usr/bin/env bash
# Runs a command in a network namespace of its own: loopback, one veth address (10.99.0.1) and a default route. Browsers and
# aiortc need an address other than loopback (Firefox also a route) to gather candidates, and no packet leaves the machine.
# Where namespaces are not permitted, the command runs without one, and PEER_ADDRESS stays unset.
set -euo pipefail
if ! unshare --net true 2>/dev/null; then
    exec "$@"
fi
exec unshare --net bash -c '
    ip link set lo up
    ip link add tessera0 type veth peer name tessera1
    ip address add 10.99.0.1/24 dev tessera0
    ip link set tessera0 up
    ip link set tessera1 up
    ip route add default via 10.99.0.2 dev tessera0
    export PEER_ADDRESS=10.99.0.1
    ip -6 address add fd99::1/64 dev tessera0 nodad 2>/dev/null && export PEER_ADDRESS6=fd99::1
    exec "$@"
' in_namespace "$@"
