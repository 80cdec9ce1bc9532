#!/usr/bin/env bash
# lanes.sh FOLDER PYTHON ARGUMENT...: runs the client tests in lanes beside each other (support/lanes.py), each in a network of its own. FOLDER keeps
# what the lanes agree on, and the seconds and cores of each test for the next run. CLIENT_LANE_COUNT says how many lanes, without it one
# for each core and one more.
set -euo pipefail
here=$(dirname "$0")
folder=$1 python=$2
shift 2
mkdir -p "$folder"
rm -f "$folder"/state.json "$folder"/*.log
export CLIENT_LANES=$folder
lanes=()
# The lanes end with this script: each of them ends its own programs.
trap 'kill "${lanes[@]}" 2>/dev/null || true' EXIT
for ((lane = 1; lane <= ${CLIENT_LANE_COUNT:-$(($(nproc) + 1))}; lane++)); do
    "$here/in_namespace.sh" "$python" -m pytest "$here" -p no:cacheprovider --durations 8 "$@" >"$folder/$lane.log" 2>&1 &
    lanes+=($!)
done
worst=5
for lane in "${!lanes[@]}"; do
    status=0
    wait "${lanes[$lane]}" || status=$?
    echo "== Lane $((lane + 1)) of the client tests =="
    cat "$folder/$((lane + 1)).log"
    # 5: the arguments choose no test.
    if [ "$status" -ne 5 ] && { [ "$worst" -eq 5 ] || [ "$worst" -eq 0 ]; }; then worst=$status; fi
done
exit "$worst"
