#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# ./dev deps NAME: optional dependencies into build/deps, where nothing else looks for them.
set -eu
. tools/common.sh

nvshmem_version=3.4.5
cuda12_version=12.9.86

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

# CUDA 12's assembler and linker, for Clang's OpenMP: its run-time library does not take what CUDA 13's make.
fetch_cuda12() {
  folder=build/deps/cuda12
  if [ -e "$folder/version-$cuda12_version" ]; then
    cmp -s tools/nvlink.py "$folder/bin/nvlink" || cp tools/nvlink.py "$folder/bin/nvlink"
    return 0
  fi
  need "fetching CUDA 12's tools" python3-pip
  say "CUDA $cuda12_version's ptxas and nvJitLink into $folder"
  rm -rf "$folder" build/deps/download
  mkdir -p "$folder/bin" "$folder/lib" build/deps/download/unpacked
  for package in nvidia-cuda-nvcc-cu12 nvidia-nvjitlink-cu12; do
    python3 -m pip download -q --no-deps --only-binary :all: -d build/deps/download \
      "$package==$cuda12_version" || die 3 "pip could not fetch $package"
  done
  for wheel in build/deps/download/*.whl; do
    python3 -m zipfile -e "$wheel" build/deps/download/unpacked
  done
  unpacked=build/deps/download/unpacked/nvidia
  mv "$unpacked/cuda_nvcc/bin/ptxas" "$folder/bin/"
  mv "$unpacked/cuda_nvcc/nvvm" "$unpacked/cuda_nvcc/include" "$folder/"
  mv "$unpacked/nvjitlink/lib/libnvJitLink.so.12" "$folder/lib/"
  cp tools/nvlink.py "$folder/bin/nvlink"
  chmod +x "$folder/bin/ptxas" "$folder/bin/nvlink"
  rm -rf build/deps/download
  touch "$folder/version-$cuda12_version"
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
  cuda12) fetch_cuda12 ;;
  openmm) fetch_into_venv openmm OpenMM ;;
  mdanalysis) fetch_into_venv mdanalysis MDAnalysis ;;
  *) die 2 "./dev deps NAME, with one of: nvshmem cuda12 openmm mdanalysis" ;;
esac
say "$1 is in build/deps/$1"
