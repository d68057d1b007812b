#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs a program as a world of transport socket: sh socket_world.sh COUNT PROGRAM [ARGUMENT...]
# Prints what failed processes said; exit code 0, or that of the last process that failed.
set -u
count=$1
shift
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export TG_BOOTSTRAP="file:$folder/rendezvous" TG_PE_COUNT="$count"
pids=
pe=0
while [ "$pe" -lt "$count" ]; do
  TG_PE=$pe "$@" >"$folder/$pe" 2>&1 &
  pids="$pids $!"
  pe=$((pe + 1))
done
pe=0
failed=0
for pid in $pids; do
  wait "$pid" || {
    failed=$?
    echo "PE $pe: exit code $failed"
    cat "$folder/$pe"
  }
  pe=$((pe + 1))
done
exit "$failed"
