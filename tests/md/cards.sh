#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# One run of molecular dynamics done in several ways leaves the same bytes: the same domains on one GPU, on two,
# in a process for each; interrupted and continued, on as many GPUs or on others.
#   tests/md/cards.sh PROGRAM       in the top folder of the source; exits with 77 where there are no two GPUs
set -u
program=$1
launch="mpirun -n 2 --oversubscribe --bind-to none"
work=$(mktemp -d) || exit 3
trap 'rm -rf "$work"' EXIT
passed=0 failed=0
input="-c examples/ethanol-water/conf.gro -p examples/ethanol-water/topol.top -f $work/run.mdp --backend cuda"
compared="energies.xvg energies.jsonl traj.xtc traj.trr confout.gro"
atoms=5625

if [ "$(nvidia-smi -L 2>/dev/null | grep -c '^GPU')" -lt 2 ]; then
  echo "skipped: two GPUs are needed"
  exit 77
fi

# parameters STEPS EVERY: what the runs do
parameters() {
  grep -v -E '^(nsteps|tcoupl|comm-mode|nstenergy|nstxout)' examples/ethanol-water/rf.mdp >"$work/run.mdp"
  cat >>"$work/run.mdp" <<END
nsteps = $1
nstenergy = $2
nstxout = $(($2 * 5))
nstvout = $(($2 * 5))
nstfout = $(($2 * 5))
nstxout-compressed = $2
tcoupl = v-rescale
tc-grps = System
ref-t = 300
tau-t = 0.5
ld-seed = 11
comm-mode = linear
END
}

# run NAME CODE COMMAND...: its output into $work/NAME.log; the folder of the run is $work/NAME
run() {
  name=$1 code=$2
  shift 2
  # shellcheck disable=SC2086 # lists of words
  timeout -k 5 60 "$@" md run $input -o "$work/$name" ${words:-} >"$work/$name.log" 2>&1
  found=$?
  [ $found -eq "$code" ] && return
  echo "FAILED $name: exit code $found, $code was expected"
  tail -n 5 "$work/$name.log"
  failed=$((failed + 1))
}

# same A B: the runs' files; of the checkpoint positions and velocities, as it has the log's length too
same() {
  if cmp -n $((atoms * 48)) "$work/$1/state.cpt" "$work/$2/state.cpt" >"$work/cmp.log" 2>&1; then
    passed=$((passed + 1))
  else
    echo "FAILED $1 and $2: $(cat "$work/cmp.log")"
    failed=$((failed + 1))
  fi
  for file in $compared; do
    if cmp "$work/$1/$file" "$work/$2/$file" >"$work/cmp.log" 2>&1; then
      passed=$((passed + 1))
    else
      echo "FAILED $1 and $2: $(cat "$work/cmp.log")"
      failed=$((failed + 1))
    fi
  done
}

parameters 400 20
words="--pe 2x1x1" run one 0 "$program"
words="--gpus 2 --pe 2x1x1" run two 0 "$program"
words="--gpus 2 --pe 2x1x1" run again 0 "$program"
words="--pe 2x2x1" run four-on-one 0 "$program"
words="--gpus 2 --pe 2x2x1" run four 0 "$program"
same one two
same two again
same four-on-one four
for halo in host stream pulse fused; do
  words="--pe 2x2x1 --halo $halo" run "$halo-on-one" 0 "$program"
  words="--gpus 2 --pe 2x2x1 --halo $halo" run "$halo" 0 "$program"
  same four-on-one "$halo-on-one"
  same four "$halo"
done
processes=
if "$program" info | grep -q '^ *\(Transports\)\? *nvshmem *yes'; then processes=1; fi
if [ -n "$processes" ] && command -v mpirun >/dev/null 2>&1; then
  # shellcheck disable=SC2086 # a list of words
  words="--pe 2x1x1" run processes 0 $launch "$program"
  same one processes
  for halo in host stream pulse fused; do
    # shellcheck disable=SC2086 # a list of words
    words="--pe 2x2x1 --halo $halo" run "$halo-processes" 0 $launch "$program"
    same four "$halo-processes"
  done
else
  echo "processes with a GPU each are not tried: there is no transport nvshmem, or no mpirun"
fi

# half of it on one GPU, the rest on two, and the other way round
parameters 200 20
words="--pe 2x1x1" run half 0 "$program"
words="--gpus 2" run other-half 0 "$program"
parameters 400 20
words="--gpus 2 --continue" run half 0 "$program"
words="--pe 2x1x1 --continue" run other-half 0 "$program"
same one half
same one other-half

# Ctrl-C
parameters 150000 5000
words="--gpus 2" run long 0 "$program"
words="--gpus 2" run cut 130 timeout --preserve-status -s INT 2 "$program"
grep -h 'interrupted at step' "$work/cut.log"
words="--gpus 2 --continue" run cut 0 "$program"
same long cut
grep -h 'processing elements\|waits of the host\|GPU kernels' "$work/long/md.log"
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
