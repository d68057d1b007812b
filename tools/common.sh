# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# shellcheck disable=SC2034 # variables for who sources it
# Sourced by the other scripts: messages, packages, building.

say() { printf '\n== %s\n' "$*"; }
skip() { printf '\n== skipped: %s\n' "$*"; }
die() { # STATUS MESSAGE
  status=$1
  shift
  printf 'dev: %s\n' "$*" >&2
  exit "$status"
}

cores() { getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1; }

# Is what a package brings already here? Asked of the thing itself, so that tools from elsewhere count
# and no package manager is needed where nothing is missing.
have() { # PACKAGE
  case $1 in
    cmake) cmake -E true 2>/dev/null && cmake_is_recent ;;
    ninja-build) command -v ninja >/dev/null 2>&1 ;;
    gcc) command -v cc >/dev/null 2>&1 ;;
    gcc-12-offload-nvptx) command -v x86_64-linux-gnu-accel-nvptx-none-gcc-12 >/dev/null 2>&1 ;;
    clang-19) command -v clang-19 >/dev/null 2>&1 ;;
    clang-tools-19) [ -e /usr/lib/llvm-19/bin/clang-offload-packager ] ;;
    lld-19) [ -e /usr/lib/llvm-19/bin/lld ] ;;
    libomp-19-dev) [ -e /usr/lib/llvm-19/lib/libomp.so ] ;;
    g++) command -v c++ >/dev/null 2>&1 ;;
    libc6-dev) echo '#include <stdio.h>' | cc -E -o /dev/null - 2>/dev/null ;;
    pkg-config) command -v pkg-config >/dev/null 2>&1 ;;
    libopenmpi-dev) command -v mpicc >/dev/null 2>&1 ;;
    openmpi-bin) command -v mpirun >/dev/null 2>&1 ;;
    libfftw3-dev) library fftw3 ;;
    liblapacke-dev) library lapacke ;;
    libopenblas-dev) library openblas ;;
    libhdf5-dev) library hdf5 || library hdf5-serial ;;
    libcmocka-dev) library cmocka ;;
    spin) command -v spin >/dev/null 2>&1 ;;
    gnuplot-nox) command -v gnuplot >/dev/null 2>&1 ;;
    clang-format-14) clang_tool clang-format >/dev/null ;;
    clang-tidy-14) clang_tool clang-tidy >/dev/null ;;
    python3-pip) python3 -m pip --version >/dev/null 2>&1 ;;
    python3-venv) python3 -c 'import venv, ensurepip' 2>/dev/null ;;
    *) die 1 "tools/common.sh does not know how to look for the package $1" ;;
  esac
}

library() { pkg-config --exists "$1" 2>/dev/null; }

cmake_is_recent() { # 3.25 or later, as CMakeLists.txt asks for
  cmake --version | awk 'NR == 1 { split($3, v, "."); exit !(v[1] > 3 || (v[1] == 3 && v[2] >= 25)) }'
}

# The formatter and the linter are pinned: other versions format, and complain, differently.
clang_tool() { # NAME: prints the command of version 14
  for candidate in "$1-14" "$1"; do
    if "$candidate" --version 2>/dev/null | grep -q 'version 14\.'; then
      echo "$candidate"
      return 0
    fi
  done
  return 1
}

missing_of() { # PACKAGE...
  for package in "$@"; do
    have "$package" || printf ' %s' "$package"
  done
}

# Installs the packages whose contents are not here yet; does nothing, and needs no network, otherwise.
need() { # PURPOSE PACKAGE...
  purpose=$1
  shift
  missing=$(missing_of "$@")
  [ -n "$missing" ] || return 0
  say "missing for $purpose:$missing"
  known=
  if [ -r /etc/os-release ]; then
    known=$(. /etc/os-release && case "$ID ${ID_LIKE:-}" in *debian* | *ubuntu*) echo yes ;; esac)
  fi
  if [ -z "$known" ] || ! command -v apt-get >/dev/null 2>&1; then
    die 3 "this is neither Debian nor Ubuntu: install what these packages hold, then try again:$missing"
  fi
  as_root=
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null 2>&1 || die 3 "not root, and no sudo: as root, apt-get install$missing"
    as_root=sudo
  fi
  # shellcheck disable=SC2086 # a list of words
  if ! has_candidates $missing || ! apt_install $missing; then
    apt update -qq || die 3 "apt-get update failed: no network? Needed are:$missing"
    apt_install $missing || die 3 "apt-get could not install:$missing"
  fi
  missing=$(missing_of "$@")
  [ -z "$missing" ] || die 3 "installed, but still not usable (too old?):$missing"
}

apt() { $as_root env DEBIAN_FRONTEND=noninteractive apt-get "$@"; }
apt_install() { apt install -qq -y --no-install-recommends "$@"; }

# Do the package lists on this machine offer all of them? After a fresh installation they are empty.
has_candidates() { # PACKAGE...
  for package in "$@"; do
    apt-cache policy "$package" 2>/dev/null | grep 'Candidate:' | grep -qv '(none)' || return 1
  done
}

packages_program='cmake ninja-build gcc libc6-dev pkg-config'
packages_demo="$packages_program gnuplot-nox liblapacke-dev"
packages_libraries='libopenmpi-dev openmpi-bin libfftw3-dev liblapacke-dev libopenblas-dev libhdf5-dev'
# gnuplot is in it because the plots are tested; g++ because the public headers are checked as C++.
# spin searches the model of the halo protocol.
packages_test="$packages_program $packages_libraries libcmocka-dev g++ gnuplot-nox spin"

# Compilers for the modules acc and offload; where they cannot be had, the modules are left out.
packages_modules='gcc-12-offload-nvptx clang-19 clang-tools-19 lld-19 libomp-19-dev'

# As need, but what cannot be installed is only said.
wish() { # PURPOSE PACKAGE...
  for package in $(shift && missing_of "$@"); do
    (need "$1" "$package") || skip "$package ($1)"
  done
}

configure_and_build() { # PRESET [CMAKE OPTION...] [-- BUILD OPTION...]
  preset=$1
  shift
  options=
  while [ $# -gt 0 ] && [ "$1" != -- ]; do
    options="$options $1"
    shift
  done
  [ $# -eq 0 ] || shift
  say "build preset $preset (build/$preset)"
  # shellcheck disable=SC2086 # a list of words
  cmake --preset "$preset" $options || die 1 "the preset $preset could not be configured"
  cmake --build --preset "$preset" -j "$(cores)" "$@" || die 1 "the preset $preset does not build"
}
