#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What each commit makes of a step of molecular dynamics on one and on two GPUs.
#   bench/md_variants.sh build FOLDER BASE
#                      needs git: BASE and every commit since that changes src, built for one architecture
#                      ($ARCHITECTURE, 90 by default): FOLDER/throng-N-COMMIT. FOLDER is put outside the source or
#                      where git ignores it; a minute a commit on two cores
#   bench/md_variants.sh run FOLDER
#                      from the top folder of the source, some 4 s a build: every build at 45,000 and 180,000 atoms,
#                      the first and the last at 1,440,000; with one GPU that alone. Logs: $OUT or FOLDER
set -u
verb=${1:-}
folder=${2:-}
[ -n "$folder" ] || { sed -n '3,10s/^# \{0,1\}//p' "$0"; exit 2; }
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

# measure SIZES BINARY: its lines of whole steps and of kernels
measure() {
  name=$(basename "$2")
  if timeout 30 "$2" bench md --gpus "$gpus" --replicate "$1" --repeats 5 >"$out/$name-$1.log" 2>&1; then
    sed -n '/median/p; /^ *[0-9][0-9]* *[12] /p' "$out/$name-$1.log" | sed "s/^/$name /"
  else
    echo "$name failed:"
    tail -n 3 "$out/$name-$1.log"
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
  for binary in $(find "$folder" -name 'throng-*' | sort -t- -k2 -n); do
    measure 2x2x2,4x4x2 "$binary"
  done
  measure 8x8x4 "$first"
  measure 8x8x4 "$last"
}

case $verb in
  build) build "${3:?BASE is missing}" ;;
  run) run ;;
  *) echo "$0: build or run, not $verb" >&2; exit 2 ;;
esac
