#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# ./dev build [PRESET]
set -eu
. tools/common.sh

preset=${1:-cpu}
case $preset in
  cpu | asan | tsan) ;;
  cuda | nvshmem)
    command -v nvcc >/dev/null 2>&1 || die 3 "preset $preset needs the CUDA toolkit: nvcc is not on PATH"
    ;;
  *) die 2 "no such preset: $preset (there are cpu, cuda, nvshmem, asan, tsan)" ;;
esac
# shellcheck disable=SC2086 # a list of words
need "building" $packages_program $packages_libraries libcmocka-dev
# ./dev test leaves these two off where it needs no code for GPUs; a build says what it wants.
modules='-DTG_MODULES=ON -DTG_CLANG_LTO=ON'
if [ "$preset" = nvshmem ]; then
  sh tools/deps.sh nvshmem
  # shellcheck disable=SC2086 # a list of words
  configure_and_build nvshmem -DTG_TESTS=ON $modules "-DTG_NVSHMEM_ROOT=$PWD/build/deps/nvshmem/nvidia/nvshmem"
else
  # shellcheck disable=SC2086 # a list of words
  configure_and_build "$preset" -DTG_TESTS=ON $modules
fi
