#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What each commit makes of a step of molecular dynamics on one and on two GPUs.
#   bench/md_variants.sh build FOLDER BASE
#                      needs git: BASE and every commit since that changes src, built for one architecture
#                      ($ARCHITECTURE, 90 by default): FOLDER/throng-N-COMMIT. FOLDER is put outside the source or
#                      where git ignores it; a minute on 16 cores, a quarter of an hour on two
#   bench/md_variants.sh run FOLDER
#                      a minute on two GPUs, from the top folder of the source. First the last build must give the
#                      same bytes on one and on two GPUs, and as the first build on each. Then every build at 45,000
#                      and 180,000 atoms, the last one also with blocks of 1 and 2 warps and with rows in the order
#                      of blocks (two GPUs) or of length (one); the first and these at 1,440,000. With one GPU that
#                      alone. Logs: $OUT or FOLDER
set -u
verb=${1:-}
folder=${2:-}
[ -n "$folder" ] || { sed -n '3,14s/^# \{0,1\}//p' "$0"; exit 2; }
cd "$(dirname "$0")/.." || exit 3

build() {
  base=$1
  tree=build/variants
  mkdir -p "$folder"
  [ -d "$tree" ] || git worktree add --quiet --detach "$tree" "$base" || exit 3
  number=0
  for commit in "$(git rev-parse "$base")" $(git rev-list --reverse "$base"..HEAD -- src); do
    git -C "$tree" checkout --quiet "$commit" || exit 3
    (cd "$tree" && cmake --preset cuda -DTG_TESTS=OFF -DCMAKE_CUDA_ARCHITECTURES="${ARCHITECTURE:-90}" &&
      cmake --build build/cuda --target throng) >"$folder/build.log" 2>&1 ||
      { tail -n 20 "$folder/build.log"; exit 3; }
    short=$(git rev-parse --short "$commit")
    strip -o "$folder/throng-$number-$short" "$tree/build/cuda/throng" || exit 3
    git log -1 --format="$number %h %s" "$commit"
    number=$((number + 1))
  done | tee "$folder/commits.txt"
  git worktree remove --force "$tree"
}

# measure NAME SIZES BINARY [SETTING...]: its lines of whole steps and of kernels
measure() {
  name=$1 sizes=$2 binary=$3
  shift 3
  if timeout 30 env "$@" "$binary" bench md --gpus "$gpus" --replicate "$sizes" --repeats 5 >"$out/$name.log" 2>&1; then
    sed -n '/median/p; /^ *[0-9][0-9]* *[12] /p' "$out/$name.log" | sed "s/^/$name /"
  else
    echo "$name failed:"
    tail -n 3 "$out/$name.log"
  fi
}

# same_bytes GPUS [SETTING]: 500 steps by the first build and by the last; all that they change keeps the sums
same_bytes() {
  for build in first last; do
    program=$first
    [ $build = first ] || program=$last
    rm -rf "$out/$build-$1"
    timeout 20 env "${2:-TG_NONE=}" "$program" md run -c examples/ethanol-water/conf.gro -p examples/ethanol-water/topol.top \
      -f "$out/bytes.mdp" --backend cuda --gpus "$1" --output "$out/$build-$1" >"$out/$build-$1.log" 2>&1
  done
  if cmp -s "$out/first-$1/confout.gro" "$out/last-$1/confout.gro" &&
    cmp -s "$out/first-$1/energies.xvg" "$out/last-$1/energies.xvg"; then
    echo "$1 GPUs ${2:-}: the same bytes"
  else
    echo "$1 GPUs ${2:-}: NOT the same bytes"
  fi
}

run() {
  out=${OUT:-$folder}
  gpus=1,2
  [ "$(nvidia-smi -L 2>/dev/null | grep -c '^GPU')" -ge 2 ] || gpus=1
  last=$(find "$folder" -name 'throng-*' | sort -t- -k2 -n | tail -n 1)
  first=$(find "$folder" -name 'throng-0-*')
  chmod +x "$folder"/throng-*
  cat "$folder/commits.txt"
  timeout 60 tests/md/cards.sh "$last" | tail -n 4
  sed 's/^nsteps.*/nsteps = 500/' examples/ethanol-water/rf.mdp >"$out/bytes.mdp"
  for setting in TG_NONE= TG_MD_ORDER=length TG_MD_FORCE_WARPS=1 TG_MD_FORCE_WARPS=2; do
    same_bytes 1 $setting
  done
  [ $gpus = 1 ] || same_bytes 2
  for binary in $(find "$folder" -name 'throng-*' | sort -t- -k2 -n); do
    measure "$(basename "$binary")" 2x2x2,4x4x2 "$binary"
  done
  for setting in TG_MD_FORCE_WARPS=1 TG_MD_FORCE_WARPS=2 TG_MD_ORDER=blocks TG_MD_ORDER=length; do
    measure "$setting" 2x2x2,4x4x2 "$last" "$setting"
  done
  measure length-2 2x2x2,4x4x2 "$last" TG_MD_ORDER=length TG_MD_FORCE_WARPS=2
  measure first-large 8x8x4 "$first"
  measure last-large 8x8x4 "$last"
  for setting in TG_MD_FORCE_WARPS=1 TG_MD_ORDER=blocks TG_MD_ORDER=length; do
    measure "$setting-large" 8x8x4 "$last" "$setting"
  done
}

case $verb in
  build) build "${3:?BASE is missing}" ;;
  run) run ;;
  *) echo "$0: build or run, not $verb" >&2; exit 2 ;;
esac
