#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# ./dev bench NAME [OPTION...]
set -eu
. tools/common.sh

[ $# -ge 1 ] || die 2 "which benchmark? ./dev bench NAME; throng bench --help lists them"
# shellcheck disable=SC2086 # a list of words
need "the benchmarks" $packages_program
if [ "$1" = motif ]; then # it loads the modules, too
  # shellcheck disable=SC2086 # a list of words
  wish "the modules acc and offload" $packages_modules
  configure_and_build cpu -DTG_TESTS=OFF -DTG_MODULES=ON -DTG_CLANG_LTO=ON
else
  configure_and_build cpu -DTG_TESTS=OFF -- --target throng_program
fi
exec build/cpu/throng bench "$@"
