#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# ./dev bench NAME [OPTION...]
set -eu
. tools/common.sh

[ $# -ge 1 ] || die 2 "which benchmark? ./dev bench NAME; throng bench --help lists them"
# shellcheck disable=SC2086 # a list of words
need "the benchmarks" $packages_program
configure_and_build cpu -DTG_TESTS=OFF -- --target throng_program
exec build/cpu/throng bench "$@"
