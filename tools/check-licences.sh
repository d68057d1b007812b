#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every source file and script names its licence near its top.
set -eu
. tools/common.sh

say "licence lines"
bad=0
for path in $(git ls-files --cached --others --exclude-standard); do
  [ -f "$path" ] || continue
  case $path in
    *.c | *.h | *.cu | *.cuh | *.cpp | *.py | *.sh | *.awk | *.cmake | *CMakeLists.txt | *.cff) ;;
    *) head -n 1 "$path" | grep -q '^#!' || continue ;;
  esac
  if ! head -n 3 "$path" | grep -q 'SPDX-License-Identifier: Apache-2\.0'; then
    echo "$path: no SPDX-License-Identifier: Apache-2.0 in its first three lines" >&2
    bad=1
  fi
done
[ "$bad" -eq 0 ] || die 1 "files without a licence line (see above)"
