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

# A checkpoint (src/md/checkpoint.h) has the length of each output file, so that a run that goes on cuts them back.
# The log says on how many GPUs the run is and with which schedule, so its length is another one; nothing else is.
# Prints what differs beside that length and the two checksums over it.
checkpoints_differ() {
  files=$((40 + 56 + 104 + 2 * (56 + 24 * atoms))) # where the section of lengths begins: 56 bytes of head, 72 a file
  log=$((files + 56 + 4 * 72 + 64))                # the log's is the fifth, behind 64 bytes of name
  [ "$(tail -c +$((log - 63)) "$1" | head -c 6)" = md.log ] || echo "$1 does not have the log's length where it was"
  [ "$(stat -c %s "$1")" -eq "$(stat -c %s "$2")" ] || echo "sizes differ"
  cmp -l "$1" "$2" | awk -v files=$files -v log_at=$log '
    { at = $1 - 1 }
    at >= files + 36 && at < files + 40 || at >= files + 52 && at < files + 56 || at >= log_at && at < log_at + 8 { next }
    { if (other++ < 5) print "byte " at ": " $2 " and " $3 }'
}

# same A B: the runs' files
same() {
  checkpoints_differ "$work/$1/state.cpt" "$work/$2/state.cpt" >"$work/cmp.log" 2>&1
  if [ -s "$work/cmp.log" ]; then
    echo "FAILED $1 and $2: state.cpt: $(cat "$work/cmp.log")"
    failed=$((failed + 1))
  else
    passed=$((passed + 1))
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
