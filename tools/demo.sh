#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# ./dev demo: ethanol in water for 5 ps on all cores, with its energies, drift, speed and a plot; and the
# spectrum of a nucleus with its level scheme.
set -eu
. tools/common.sh

[ $# -eq 0 ] || die 2 "./dev demo takes no arguments"
# shellcheck disable=SC2086 # a list of words
need "the demo" $packages_demo
# The tests are only configured where their library is; a later ./dev test uses the same folder.
tests=OFF
if library cmocka; then tests=ON; fi
configure_and_build cpu "-DTG_TESTS=$tests" -- --target throng_program

example=examples/ethanol-water
out=build/demo
rm -rf "$out" # of the demo before: nothing else writes there
say "simulate: 125 ethanol and 1,500 water molecules, 2,500 steps of 2 fs"
set -- build/cpu/throng md run -c "$example/conf.gro" -p "$example/topol.top" \
  -f "$example/demo.mdp" -o "$out" --plot energy.svg
printf '%s ' "$@"
echo
"$@"
[ -s "$out/energy.svg" ] || die 1 "the run wrote no plot $out/energy.svg"

say "energies, from $out/energies.xvg"
awk -v atoms=5625 -v settle=0.5 -f tools/energies.awk "$out/energies.xvg"
say "solve: the lowest levels of 24Mg, eight nucleons outside 16O"
set -- build/cpu/throng ci solve -i usdb --protons 4 --neutrons 4 --states 13 --observables e2 \
  --picture "$out/mg24.svg"
printf '%s ' "$@"
echo
"$@"
[ -s "$out/mg24.svg" ] || die 1 "no level scheme $out/mg24.svg"

say "written to $out"
ls -l "$out"
