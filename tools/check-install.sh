#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs a build into a scratch folder, and builds and runs an example program with nothing but what
# lies there. Usage: check-install.sh BUILD_FOLDER
set -eu
. tools/common.sh

build=$1
place=$(mktemp -d "${TMPDIR:-/tmp}/throng-install-XXXXXX")
trap 'rm -rf "$place"' EXIT

say "install"
cmake --install "$build" --prefix "$place" >"$place/log" || {
  cat "$place/log"
  die 1 "cmake --install $build failed"
}
"$place/bin/throng" info >/dev/null
for file in include/throng/status.h include/throng/world.h include/throng/halo.h \
  include/throng/md.h include/throng/device/halo.cuh share/man/man1/throng.1; do
  [ -s "$place/$file" ] || die 1 "cmake --install left out $file"
done
library=$(find "$place" -name libthrong.a)
[ -n "$library" ] || die 1 "cmake --install left out libthrong.a"
# whatever compiled throng; MPI's, where throng was built with it, because the library needs it then
compiler=$(sed -n 's/^CMAKE_C_COMPILER:[A-Z]*=//p' "$build/CMakeCache.txt")
if grep -q '^MPI_C_LIB_NAMES:[A-Z]*=.' "$build/CMakeCache.txt"; then
  compiler=$(sed -n 's/^MPI_C_COMPILER:[A-Z]*=//p' "$build/CMakeCache.txt")
fi
"$compiler" -std=c17 -I"$place/include" examples/stencil-c/stencil.c "$library" -fopenmp -lpthread -lm \
  -o "$place/stencil"
"$place/stencil" pulse | tail -n 1
