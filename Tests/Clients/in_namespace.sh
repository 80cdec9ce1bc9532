#!/usr/bin/env bash
# Runs a command in a network namespace of its own: loopback, one veth address (10.99.0.1) and a default route. Browsers and
# aiortc need an address other than loopback (Firefox also a route) to gather candidates, and nothing can leave.
# Where namespaces are not allowed, the command runs as it is, and PEER_ADDRESS stays unset.
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
    exec "$@"
' in_namespace "$@"
