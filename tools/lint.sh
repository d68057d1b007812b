#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# ./dev lint [--all], ./dev format [--all] (which is lint.sh --fix).
set -eu
. tools/common.sh

all=
fix=
for option in "$@"; do
  case $option in
    --all) all=yes ;;
    --fix) fix=yes ;;
    *) die 2 "./dev lint and ./dev format take --all or nothing, not $option" ;;
  esac
done

need "formatting" clang-format-14
# Changed: since the branch left main, committed or not. On main, or without it: every file.
base=$(git merge-base HEAD main 2>/dev/null || true)
if [ -z "$all" ] && [ -n "$base" ] &&
  { [ "$base" != "$(git rev-parse HEAD)" ] || [ -n "$(git status --porcelain)" ]; }; then
  files=$({ git diff --name-only --diff-filter=d "$base" && git ls-files -o --exclude-standard; } | sort -u)
else
  files=$(git ls-files --cached --others --exclude-standard)
fi
code=
sources=
scripts=
for path in $files; do
  [ -f "$path" ] || continue
  case $path in
    bench/*.c) code="$code $path" ;; # they need packages that throng does not
    *.c) code="$code $path" sources="$sources $path" ;;
    *.h | *.cu | *.cuh) code="$code $path" ;;
    *.sh | dev | .ci/run) scripts="$scripts $path" ;;
  esac
done

format=$(clang_tool clang-format)
if [ -n "$fix" ]; then
  # shellcheck disable=SC2086 # lists of words
  [ -z "$code" ] || "$format" -i $code
  exit 0
fi

failed=
if [ -n "$code" ]; then
  say "clang-format"
  # shellcheck disable=SC2086
  wrong=$("$format" --dry-run $code 2>&1 | sed -n 's/:[0-9]*:[0-9]*: warning: .*//p' | sort | uniq -c)
  if [ -n "$wrong" ]; then
    printf 'places to format (./dev format does it):\n%s\n' "$wrong"
    failed="$failed clang-format"
  fi
fi
if [ -n "$sources" ]; then
  # shellcheck disable=SC2086
  need "linting" $packages_program libcmocka-dev clang-tidy-14
  cmake --preset cpu -DTG_TESTS=ON >/dev/null || die 1 "the preset cpu could not be configured"
  say "clang-tidy"
  # The compiler's omp.h is found last, after all headers that clang brings itself: a copy of it, as
  # clang takes no arguments to the attribute __malloc__, which GCC 12 and later give. The analyzer looks
  # at one function at a time: it cannot know that tg_fail never returns TG_OK. One file at a time,
  # because version 14 takes every va_list of a second one for uninitialised.
  mkdir -p build/lint
  sed 's/__malloc__ (omp_free)/__malloc__/' "$(cc -print-file-name=include)/omp.h" >build/lint/omp.h
  # shellcheck disable=SC2086
  printf '%s\n' $sources | xargs -n 1 -P "$(cores)" "$(clang_tool clang-tidy)" -quiet -p build/cpu \
    --extra-arg="-idirafter$PWD/build/lint" --extra-arg="-idirafter$(cc -print-file-name=include)" --extra-arg=-Xclang \
    --extra-arg=-analyzer-config --extra-arg=-Xclang --extra-arg=ipa=none || failed="$failed clang-tidy"
  if command -v cppcheck >/dev/null 2>&1; then
    say "cppcheck"
    # shellcheck disable=SC2086
    cppcheck --quiet --std=c11 --error-exitcode=1 --enable=warning,portability --inline-suppr \
      --suppress=missingIncludeSystem -Iinclude -Isrc $sources || failed="$failed cppcheck"
  else
    skip "cppcheck (not installed)"
  fi
fi
sh tools/check-licences.sh || failed="$failed licences"
sh tools/check-floors.sh || failed="$failed floors"
if [ -n "$scripts" ] && command -v shellcheck >/dev/null 2>&1; then
  say "shellcheck"
  # shellcheck disable=SC2086
  shellcheck -x $scripts || failed="$failed shellcheck"
elif [ -n "$scripts" ]; then
  skip "shellcheck (not installed)"
fi
[ -z "$failed" ] || die 1 "not clean:$failed"
say "clean"
