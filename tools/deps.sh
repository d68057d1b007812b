#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# ./dev deps NAME: optional dependencies into build/deps, where nothing else looks for them.
set -eu
. tools/common.sh

nvshmem_version=3.4.5

# The wheel is only unpacked: it needs no Python packages beside it, and no virtual environment.
fetch_nvshmem() {
  folder=build/deps/nvshmem
  if [ -e "$folder/version-$nvshmem_version" ]; then return 0; fi
  need "fetching NVSHMEM" python3-pip
  say "NVSHMEM $nvshmem_version into $folder"
  rm -rf "$folder" build/deps/download
  mkdir -p "$folder" build/deps/download
  python3 -m pip download -q --no-deps --only-binary :all: -d build/deps/download \
    "nvidia-nvshmem-cu13==$nvshmem_version" || die 3 "pip could not fetch nvidia-nvshmem-cu13"
  python3 -m zipfile -e build/deps/download/nvidia_nvshmem_cu13-*.whl "$folder"
  rm -rf build/deps/download
  # Wheels carry only the versioned name of a library; linkers look for the plain one.
  for library_file in "$folder"/nvidia/nvshmem/lib/lib*.so.*; do
    plain=${library_file%%.so.*}.so
    [ -e "$plain" ] || ln -s "$(basename "$library_file")" "$plain"
  done
  touch "$folder/version-$nvshmem_version"
}

fetch_into_venv() { # NAME PACKAGE
  folder=build/deps/$1
  if [ -e "$folder/complete" ]; then return 0; fi
  need "the Python environment $1" python3-venv
  say "$2 into $folder (its Python is $folder/bin/python)"
  rm -rf "$folder"
  python3 -m venv "$folder" || die 3 "python3 -m venv failed"
  "$folder/bin/python" -m pip install -q "$2" || die 3 "pip could not install $2"
  touch "$folder/complete"
}

case ${1:-} in
  nvshmem) fetch_nvshmem ;;
  openmm) fetch_into_venv openmm OpenMM ;;
  mdanalysis) fetch_into_venv mdanalysis MDAnalysis ;;
  *) die 2 "./dev deps NAME, with one of: nvshmem openmm mdanalysis" ;;
esac
say "$1 is in build/deps/$1"
