#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Checks the model of the halo protocol with spin: sh spin.sh MODEL BUILD_FOLDER CC. Every line of
# the table below is one search of all interleavings; a pass where a fault must be found fails the
# test, as an error where none may be does. Exit code 77 (skipped) without spin.
set -eu
model=$1 folder=$2 compiler=$3
if ! command -v spin >/dev/null 2>&1; then
  echo "skipped: spin is not installed (Debian package spin)"
  exit 77
fi
mkdir -p "$folder"
cd "$folder"

# NAME EXPECTED SETTING... EXPECTED: none, deadlock or broken (an assertion). Defaults come first.
# Writes NAME/result, whose first word is ok if all is as expected.
defaults='PULSES=2 DEP1=1 DEP2=0 STEPS=3 RETURNS=0 EMPTY_PE=-1 EMPTY_PULSE=-1 SLOTS=1 AHEAD=0
WORDS=1 XMAIL=0'
search() {
  name=$1 expected=$2
  shift 2
  flags=
  for default in $defaults; do
    given=
    for setting in "$@"; do
      [ "${setting%%=*}" != "${default%%=*}" ] || given=yes
    done
    [ -n "$given" ] || flags="$flags -D$default"
  done
  for setting in "$@"; do
    flags="$flags -D$setting"
  done
  # shellcheck disable=SC2086 # a list of words
  (cd "$name" && spin $flags -a "$model" >spin.txt && "$compiler" -w -DSAFETY -o pan pan.c &&
    ./pan -m100000 >pan.txt) || {
    echo "failed $name: spin or its compiler failed" >"$name/result"
    return
  }
  found=$(verdict "$name/pan.txt")
  states=$(sed -n 's/^ *\([0-9.e+]*\) states, stored.*/\1/p' "$name/pan.txt")
  word=ok
  [ "$found" = "$expected" ] || word="EXPECTED:$expected"
  printf '%s %-30s %-8s %9s states\n' "$word" "$name" "$found" "$states" >"$name/result"
}

verdict() { # what pan says; a search that was cut short is no verdict
  if grep -q '^pan:1: invalid end state' "$1"; then
    echo deadlock
  elif grep -q '^pan:1: assertion violated' "$1"; then
    echo broken
  elif grep -q 'errors: 0$' "$1" &&
    ! grep -qE 'max search depth too small|out of memory|not completed' "$1"; then
    echo none
  else
    echo unknown
  fi
}

# As many searches at a time as there are processors: most of their time is the compiler's.
names=
under_way=0
most=$(nproc 2>/dev/null || echo 1)
check() {
  rm -rf "$1"
  mkdir "$1"
  names="$names $1"
  search "$@" &
  under_way=$((under_way + 1))
  [ "$under_way" -lt "$most" ] || {
    wait
    under_way=0
  }
}

# The protocol. RETURNS: 0 no force return, 14 in exchanges 1 to 3, 2 and 4 in one of them. any: each
# of these, with an empty PE and without, in one search.
any='ANY RETURNS=returns EMPTY_PE=empty_pe'
# shellcheck disable=SC2086 # a list of words
for schedule in PULSE FUSED DIRECT; do
  check ring3_$schedule none RING=3 $schedule $any
  check ring3_${schedule}_empty_ahead none RING=3 $schedule EMPTY_PE=1 AHEAD=1
done
check ring3_PULSE_empty_pulse none RING=3 PULSE RETURNS=4 EMPTY_PULSE=1
check ring3_FUSED_three_pulses none RING=3 FUSED PULSES=3 DEP2=1 RETURNS=14
check grid_PULSE none GRID PULSE RETURNS=4
check grid_FUSED none GRID FUSED RETURNS=4
check grid_FUSED_empty_pe none GRID FUSED RETURNS=2 EMPTY_PE=1
for returns in 4 14; do
  check grid_DIRECT_$returns none GRID DIRECT PULSES=3 RETURNS=$returns IN_ORDER
done
check ring3_FUSED_delay none RING=3 FUSED RETURNS=4 DELAY

# By mail. XMAIL: 14 positions of all exchanges, 4 of the second alone; MAIL: forces.
# shellcheck disable=SC2086
check mail_ring3 none RING=3 FUSED MAIL XMAIL=14 $any
check mail_ring3_words none RING=3 FUSED MAIL XMAIL=14 RETURNS=14 WORDS=2
check mail_ring3_words_consumed none RING=3 FUSED XMAIL=14 WORDS=2 PULSES=1
check mail_ring3_three_pulses none RING=3 FUSED MAIL XMAIL=14 RETURNS=14 PULSES=3 DEP2=2
check mail_ring3_forces none RING=3 DIRECT MAIL RETURNS=14
check mail_ring3_positions none RING=3 DIRECT XMAIL=14 RETURNS=14
check mail_ring3_mixed none RING=3 DIRECT MAIL XMAIL=4 RETURNS=14 EMPTY_PE=1
check mail_grid none GRID FUSED MAIL XMAIL=14 RETURNS=4
check mail_grid_direct none GRID DIRECT PULSES=3 MAIL XMAIL=14 RETURNS=14 IN_ORDER

# Slots in place of a consumed flag: as many as PEs in the ring are needed.
check slots_2_of_2 none RING=2 FUSED PULSES=1 SLOTS=2 STEPS=4
check slots_2_of_3 broken RING=3 FUSED PULSES=1 SLOTS=2
check slots_3_of_3 none RING=3 FUSED PULSES=1 SLOTS=3 STEPS=5

# Faults.
check no_consumed broken RING=3 FUSED FAULT=NO_CONSUMED
check no_consumed_after_return broken RING=3 FUSED RETURNS=2 FAULT=NO_CONSUMED
check equal_slots deadlock RING=2 FUSED PULSES=1 SLOTS=2 FAULT=EQUAL
check equal_empty deadlock RING=3 DIRECT EMPTY_PE=1 AHEAD=1 FAULT=EQUAL
check no_empty_flag deadlock RING=3 FUSED EMPTY_PE=1 FAULT=NO_EMPTY_FLAG
check no_release broken RING=3 FUSED DELAY FAULT=NO_RELEASE
check no_acquire broken RING=3 FUSED FAULT=NO_ACQUIRE
check consumed_before_read broken RING=3 FUSED FAULT=CONSUMED_BEFORE_READ
check consumed_before_forward broken RING=3 FUSED FAULT=CONSUMED_BEFORE_FORWARD
check force_early broken RING=3 FUSED RETURNS=14 FAULT=FORCE_EARLY
check no_dependency broken RING=3 FUSED FAULT=NO_DEPENDENCY
check reset deadlock GRID FUSED FAULT=RESET
check end_is_reached broken RING=3 FUSED FAULT=UNREACHABLE
check mail_no_consumed broken RING=3 FUSED XMAIL=14 FAULT=NO_CONSUMED
check mail_no_dependency broken RING=3 FUSED XMAIL=14 FAULT=NO_DEPENDENCY
check mail_exact_flag deadlock RING=3 DIRECT MAIL XMAIL=4 RETURNS=14 EMPTY_PE=1 FAULT=EXACT_FLAG
check mail_any_word broken RING=3 FUSED MAIL XMAIL=14 RETURNS=14 WORDS=2 FAULT=ANY_WORD
check mail_stale_word broken RING=3 FUSED MAIL XMAIL=14 RETURNS=14 FAULT=STALE_WORD

wait
failed=
for name in $names; do
  result=$(cat "$name/result")
  echo "${result#ok }"
  [ "$result" != "${result#ok }" ] || failed=yes
done
[ -z "$failed" ] || { echo "surprises: see EXPECTED above, and $folder/NAME/pan.txt"; exit 1; }
