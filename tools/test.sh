#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# ./dev test [--all]: everything a change must pass. ctest comes last, so that its verdict does.
set -eu
. tools/common.sh

label='-L ^short$'
case ${1:-} in
  '') ;;
  --all) label= ;;
  *) die 2 "./dev test takes --all or nothing, not $1" ;;
esac

# shellcheck disable=SC2086 # a list of words
need "the tests" $packages_test
# shellcheck disable=SC2086
wish "the modules acc and offload" $packages_modules
# Clang's code for NVIDIA takes tools of CUDA 12; without them that module is for the host.
if ! { have python3-pip && sh tools/deps.sh cuda12; }; then skip "CUDA 12's ptxas and nvJitLink"; fi
configure_and_build cpu -DTG_TESTS=ON -DTG_CLANG_LTO=OFF # nothing here runs that code
sh tools/check-headers.sh
sh tools/check-floors.sh
sh tools/check-install.sh build/cpu

# Every CUDA file must be compiled by a preset, not only lie there.
cuda_files=$(find src tests -name '*.cu' | sort)
compiled=build/cuda/compile_commands.json
nvshmem_skipped=
if [ -z "$cuda_files" ]; then
  skip "preset cuda (there is no CUDA file in the tree)"
elif ! command -v nvcc >/dev/null 2>&1; then
  skip "preset cuda, preset nvshmem (nvcc is not on PATH)"
else
  # The modules are compiled above; they do not depend on the preset.
  configure_and_build cuda -DTG_TESTS=OFF -DTG_MODULES=OFF
  if ! grep -rqE '#include [<"]nvshmemx?\.h' src; then
    skip "preset nvshmem (no file uses NVSHMEM)"
  elif have python3-pip && sh tools/deps.sh nvshmem; then
    configure_and_build nvshmem -DTG_TESTS=OFF -DTG_MODULES=OFF \
      "-DTG_NVSHMEM_ROOT=$PWD/build/deps/nvshmem/nvidia/nvshmem"
    compiled="$compiled build/nvshmem/compile_commands.json"
  else
    skip "preset nvshmem (its wheel could not be fetched)"
    nvshmem_skipped=yes
  fi
  for file in $cuda_files; do
    # shellcheck disable=SC2086 # a list of words
    grep -q "/$file\"" $compiled && continue
    if [ -n "$nvshmem_skipped" ] && grep -qi nvshmem "$file"; then continue; fi
    die 1 "$file is compiled by neither preset cuda nor preset nvshmem"
  done
fi

# The parts in which PEs share memory once more, under the sanitizers: without MPI, whose library they
# cannot see into, and unoptimised, which builds faster than optimised tests would gain. Only what is
# run is built.
sanitized() { # PRESET TEST...
  preset=$1
  shift
  pattern=$(echo "$*" | sed 's/_/./; s/ \([a-z]*\)_/|\1./g')
  targets=$*
  case $targets in *cli_*) targets="$targets throng_program" ;; esac
  # shellcheck disable=SC2086 # a list of words
  configure_and_build "$preset" -DTG_TESTS=ON -DTG_MPI=OFF -- --target $targets
  say "tests under the preset $preset"
  ctest --test-dir "build/$preset" -R "^($pattern)\$" --no-tests=error --output-on-failure \
    -j "$(cores)" || die 1 "a test fails under the preset $preset"
}
sanitized tsan comm_test_symmetric comm_test_world halo_test_halo halo_test_schedules
plain=
for file in tests/base/test_*.c tests/comm/test_*.c tests/halo/test_*.c \
  tests/eigen/test_[!l]*.c; do # test_lanczos computes too much for that
  floor=$(basename "$(dirname "$file")")
  plain="$plain ${floor}_$(basename "$file" .c)"
done
# shellcheck disable=SC2086 # a list of words
sanitized asan $plain cli_test_bench_halo

# Open MPI refuses root and more processes than cores unless told; containers have both.
if [ "$(id -u)" -eq 0 ]; then
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi
export OMPI_MCA_rmaps_base_oversubscribe=1
say "tests"
# shellcheck disable=SC2086 # two words or none
exec ctest --test-dir build/cpu $label --no-tests=error --output-on-failure -j "$(cores)"
