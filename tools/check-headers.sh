#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Each header compiles by itself as C17, each public one as C++ too, each device one with nvcc.
set -eu
. tools/common.sh

say "headers compile alone"
warnings='-Wall -Wextra -Wundef -Werror -Wno-unknown-pragmas -fsyntax-only -Iinclude -Isrc -D_GNU_SOURCE'
mpi=$(pkg-config --cflags ompi-c 2>/dev/null || true)
failed=0
count=0
device=

check() { # HEADER AS COMPILER OPTION...
  header=$1
  as=$2
  shift 2
  count=$((count + 1))
  # A file that includes it, twice, as a user of it would.
  if ! printf '#include "%s"\n#include "%s"\n' "$header" "$header" | "$@"; then
    echo "$header does not compile alone as $as" >&2
    failed=1
  fi
}

for path in $(find include src -name '*.h' -o -name '*.cuh' | sort); do
  header=${path#src/}
  header=${header#include/}
  case $path in
    include/throng/device/* | */cuda/* | *.cuh) device="$device $header" ;;
    *)
      # of a variant for some processors: with their instructions
      machine=
      case $header in
        motif/*_avx2.h) machine=-mavx2 ;;
        motif/*_avx512.h) machine='-mavx512f -mavx512bw -mavx512vl -mavx512vpopcntdq' ;;
      esac
      # shellcheck disable=SC2086 # lists of words
      check "$header" C17 cc $machine -std=c17 $warnings $mpi -x c -
      # shellcheck disable=SC2086
      case $path in
        include/*) check "$header" C++17 c++ -std=c++17 $warnings -x c++ - ;;
      esac
      ;;
  esac
done

if [ -n "$device" ] && command -v nvcc >/dev/null 2>&1; then
  scratch=$(mktemp -d)
  trap 'rm -rf "$scratch"' EXIT
  # what includes NVSHMEM's headers can only be compiled where they are
  nvshmem=
  for place in "${NVSHMEM_HOME:-}" build/deps/nvshmem/nvidia/nvshmem; do
    [ ! -e "$place/include/nvshmem.h" ] || nvshmem=$place/include
  done
  for header in $device; do
    case $header in
      */nvshmem/*)
        if [ -z "$nvshmem" ]; then
          skip "$header (NVSHMEM is not there; ./dev deps nvshmem)"
          continue
        fi
        ;;
    esac
    # shellcheck disable=SC2016 # the inner shell's own $1
    check "$header" CUDA sh -c 'cat >"$1/alone.cu" && nvcc -std=c++17 -rdc=true -Iinclude -Isrc \
      ${2:+-I"$2"} -c -o "$1/alone.o" "$1/alone.cu"' sh "$scratch" "$nvshmem"
  done
elif [ -n "$device" ]; then
  skip "device headers (nvcc is not on PATH):$device"
fi
[ "$failed" -eq 0 ] || die 1 "headers must compile alone (see above)"
echo "$count compilations"
