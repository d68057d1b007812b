#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Includes only go down: a file under src/ includes its own folder, lower floors and <throng/...>.
set -eu
. tools/common.sh

say "includes go down the floors"
# shellcheck disable=SC2016 # awk's own $
find include src \( -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' \) | sort |
  xargs awk '
    BEGIN {
      split("base 0 device 1 motif 2 comm 2 halo 3 eigen 3 md 4 ci 4 bench 5 cli 5", word, " ")
      for (i = 1; i in word; i += 2) floor[word[i]] = word[i + 1]
    }
    FNR == 1 {
      files++
      parts = split(FILENAME, path, "/")
      own = path[1] == "include" ? "include" : path[2]
      if (own != "include" && (parts < 3 || !(own in floor)))
        complain("stands in no folder that is a floor", "")
    }
    /^[ \t]*#[ \t]*include[ \t]*"/ {
      split($0, quoted, "\"")
      target = quoted[2]
      folder = target
      sub(/\/.*/, "", folder)
      if (own == "include")
        complain("a public header includes <throng/...> and system headers only, not", target)
      else if (folder == target || !(folder in floor))
        complain("not written from src/ as \"folder/file.h\":", target)
      else if ((getline line < ("src/" target)) < 0)
        complain("no such file:", target)
      else if (folder != own && floor[folder] >= floor[own] && !(own == "cli" && folder == "bench"))
        # The one pair on a floor that may meet: the program starts the benchmarks.
        complain("floor " floor[own] " (" own ") includes floor " floor[folder] ":", target)
      close("src/" target)
    }
    function complain(what, target) {
      printf "%s:%d: %s %s\n", FILENAME, FNR, what, target
      bad++
    }
    END {
      printf "%d files\n", files
      exit bad > 0
    }' || die 1 "includes must go down the floors of docs/architecture.md (see above)"
