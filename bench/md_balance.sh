#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What moving the planes between domains gains where atoms stand unevenly: a slab of throng's example in a box that is
# longer by 60 %, so that equal bricks share it as 4 to 1 or worse.
#   bench/md_balance.sh PROGRAM GPUS [REPLICATE [STEPS]]     from the top folder of the source; 4x2x2 (90,000 atoms), 20000
# Runs with and without --balance, on GPUS GPUs: 2 and 4 domains in layers across the slab, and 8 in two layers each way.
# The first half of the steps finds the places. A run has to end well and leave the temperature of the others.
set -u
program=${1:-} gpus=${2:-} replicate=${3:-4x2x2} steps=${4:-20000}
[ -n "$gpus" ] || { sed -n '3,7s/^# \{0,1\}//p' "$0"; exit 2; }
work=$(mktemp -d) || exit 3
trap 'rm -rf "$work"' EXIT
example=examples/ethanol-water

"$program" md build -c $example/conf.gro -p $example/topol.top --replicate "$replicate" -o "$work/liquid" >/dev/null || exit 3

# molecules whole along x, whose edge grows
edge=$(tail -n 1 "$work/liquid/conf.gro" | awk '{ print $1 }')
awk -v edge="$edge" '
  NR == 2 { atoms = $1 }
  NR <= 2 { print; next }
  NR > atoms + 2 { printf "%10.5f%10.5f%10.5f\n", 1.6 * $1, $2, $3; next }
  {
    x = substr($0, 21, 8) + 0
    if (substr($0, 1, 10) != molecule) { molecule = substr($0, 1, 10); first = x }
    while (x - first > edge / 2) x -= edge
    while (first - x > edge / 2) x += edge
    printf "%s%8.3f%s\n", substr($0, 1, 20), x, substr($0, 29)
  }' "$work/liquid/conf.gro" >"$work/slab.gro"
grep -v -E '^(nsteps|nstxout|nstenergy)' $example/rf.mdp >"$work/run.mdp"
printf 'nsteps = %s\nnstenergy = 500\n' "$steps" >>"$work/run.mdp"

# us_a_step FOLDER: without the files that the GPU waited for
us_a_step() { sed -n 's/.*host; \([0-9.]*\) us a step without.*/\1/p' "$1/md.log"; }

for grid in 2x1x1 4x1x1 4x2x1; do
  for word in "" --balance; do
    folder=$work/$grid$word
    # shellcheck disable=SC2086 # no word is none
    if ! timeout 40 "$program" md run -c "$work/slab.gro" -p "$work/liquid/topol.top" -f "$work/run.mdp" -o "$folder" \
      --backend cuda --gpus "$gpus" --pe $grid $word >"$folder.log" 2>&1; then
      echo "$grid $word failed: $(tail -n 2 "$folder.log")"
      continue
    fi
    echo "$grid ${word:-equal}: $(us_a_step "$folder") us a step; $(grep -o 'mean temperature.*' "$folder.log")"
    grep -E '^(balance|GPU timers|as warps|forces and update|the pair list has)' "$folder/md.log" | sed 's/^/    /'
  done
done
