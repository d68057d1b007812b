#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds throng on a machine with GPUs, checks the device code, then measures it: about 8 minutes at
# most. Logs go to $OUT if it is set, else to build/device. The short table comes last.
#   bench/device.sh [PRESET [NAME]]
#                                cuda (default) or nvshmem: found by NVSHMEM_HOME, or in build/deps
#                                (./dev deps nvshmem); its tests run under mpirun, a GPU per process.
#                                NAME: only this test, such as comm_gpu_nvshmem, and no benchmark
#   bench/device.sh directives   the motifs by OpenACC and OpenMP target instead: tests and benchmark of acc,
#                                offload and offload-clang, a time limit on each. Their modules are this build's
#                                or, where the machine's compilers have no offloading, those in $TG_MODULES
#                                (made elsewhere; GCC's libgomp.so.1 and libgomp-plugin-nvptx.so.1 beside them)
#   bench/device.sh motifs       the motifs by CUDA instead: their tests, memcheck and racecheck on the small cases,
#                                figures 8, 11, 13 and 15
#   bench/device.sh sanitize     compute-sanitizer instead: memory, barriers, shared memory; a minute
set -u
cd "$(dirname "$0")/.." || exit 3
preset=${1:-cuda}
only=${2:-}
sanitize=
[ "$preset" != sanitize ] || { sanitize=1 preset=cuda; }
directives=
[ "$preset" != directives ] || { directives=1 preset=cuda; }
motifs=
[ "$preset" != motifs ] || { motifs=1 preset=cuda; }
out=${OUT:-build/device}
mkdir -p "$out"
export NVSHMEM_DISABLE_NVLS=1 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
summary=$out/summary.txt
: >"$summary"
failures=0
say() { printf '%s\n' "$*" | tee -a "$summary"; }

# step NAME SECONDS COMMAND...: its output into a log, one line into the summary
step() {
  name=$1 limit=$2
  shift 2
  began=$(date +%s)
  timeout "$limit" "$@" >"$out/$name.log" 2>&1
  code=$?
  took=$(($(date +%s) - began))
  last=$(tail -n 1 "$out/$name.log" | cut -c1-90)
  if [ $code -eq 0 ]; then
    say "$(printf '%-18s ok      %3d s  %s' "$name" $took "$last")"
  elif [ $code -eq 77 ]; then
    say "$(printf '%-18s skipped %3d s  %s' "$name" $took "$(grep '^skipped' "$out/$name.log" | head -n 1)")"
  else
    failures=$((failures + 1))
    say "$(printf '%-18s FAILED (%d) %3d s' "$name" $code $took)"
    tail -n 25 "$out/$name.log"
  fi
  return $code
}

# The words that a test's source wants it to be run with: `RUN: WORD...` by itself, `RUN-MPI: WORD...` as two
# processes.
words_of() { # NAME KEY
  sed -n "s/ *\*\/ *$//; s/^.* $2: *//p" "tests/${1%%_*}/${1#*_}.cu" 2>/dev/null | head -n 1
}
launch="mpirun -n 2"
if mpirun --version 2>/dev/null | grep -qE 'Open MPI|OpenRTE'; then
  launch="$launch --oversubscribe --bind-to none"
fi

step configure 60 cmake --preset "$preset" -DTG_TESTS=OFF -DCMAKE_CUDA_ARCHITECTURES=90 || exit 1
step build 240 cmake --build "build/$preset" --parallel "$(nproc)" || exit 1
build=build/$preset
if [ -n "$sanitize" ]; then
  for tool in memcheck synccheck racecheck; do
    step "$tool" 120 env CUDA_VISIBLE_DEVICES=0 compute-sanitizer --tool $tool --error-exitcode 9 \
      "$build/halo_gpu_halo" 1 quick
    grep -E 'FAILED|passed|ERROR SUMMARY|hazard' "$out/$tool.log" | head -n 20
  done
  # NAME GPUS PROGRAM ARGUMENT...: accesses to memory, on those GPUs. Errors of calls are left to the program: each
  # halo asks for access to the other GPU, and from the second on is told, as an error, that it has it.
  memcheck() {
    name=memcheck_$1 visible=$2
    shift 2
    step "$name" 120 env CUDA_VISIBLE_DEVICES="$visible" compute-sanitizer --report-api-errors no \
      --error-exitcode 9 "$@"
    grep -E 'FAILED|passed|Invalid|Program hit|ERROR SUMMARY' "$out/$name.log" | head -n 20
  }
  memcheck plan 0 "$build/halo_gpu_plan" 1 quick
  memcheck put 0 "$build/halo_gpu_put" quick
  if [ "$(nvidia-smi -L 2>/dev/null | grep -c '^GPU')" -ge 2 ]; then
    memcheck halo_2 0,1 "$build/halo_gpu_halo" 2 quick
  else
    say "memcheck_halo_2    skipped        two GPUs are needed"
  fi
  echo
  echo "summary"
  cat "$summary"
  exit $failures
fi
if [ -n "$directives" ]; then
  if [ -n "${TG_MODULES:-}" ]; then
    export LD_LIBRARY_PATH="$TG_MODULES${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
  fi
  step info 60 "$build/throng" info
  for backend in acc offload offload-clang; do
    if ! grep -E "^(Motifs)? +$backend +yes" "$out/info.log" | grep -qv 'on the host'; then
      say "$(printf '%-18s skipped        does not run on a GPU here (throng info)' "$backend")"
      continue
    fi
    for test in every_version_finds_the_hits blocks_keep_global_numbers slices_are_sets tiles_skip_no_hit \
      a_large_rectangle_agrees every_scan_is_exact long_scans_are_exact every_reduce_is_within_the_bound \
      every_dense_reduce_is_within_the_bound; do
      step "${backend}_$test" 60 env TG_TEST_BACKEND="$backend" TG_TEST_ONLY=$test TG_TEST_LARGE=1 \
        "$build/motif_gpu_motif"
      grep -E 'FAILED|not so' "$out/${backend}_$test.log" | head -n 20
    done
    for figure in 8 11 13 15; do
      step "bench_${backend}_$figure" 90 "$build/throng" bench motif --backend "$backend" \
        --figure $figure --items 4194304 --budget 1000 --repeats 3 \
        --json-lines "$out/motif_${backend}_$figure.jsonl"
      cat "$out/bench_${backend}_$figure.log"
    done
  done
  echo
  echo "summary"
  cat "$summary"
  exit $failures
fi
if [ -n "$motifs" ]; then
  step info 60 "$build/throng" info
  step motif_gpu_motif 150 "$build/motif_gpu_motif"
  grep -E 'FAILED|not so|failed|passed' "$out/motif_gpu_motif.log" | head -n 20
  for tool in memcheck racecheck; do
    for test in slices_are_sets tiles_skip_no_hit every_scan_is_exact every_reduce_is_within_the_bound \
      every_dense_reduce_is_within_the_bound; do
      step "${tool}_$test" 60 env TG_TEST_BACKEND=cuda TG_TEST_ONLY=$test compute-sanitizer --tool $tool \
        --error-exitcode 9 "$build/motif_gpu_motif"
      grep -E 'FAILED|Invalid|Program hit|ERROR SUMMARY|RACECHECK SUMMARY|hazard' "$out/${tool}_$test.log" |
        head -n 20
    done
  done
  for figure in 8 11 13 15; do
    step "bench_cuda_$figure" 90 "$build/throng" bench motif --backend cuda --figure $figure --repeats 3 \
      --json-lines "$out/motif_cuda_$figure.jsonl"
    cat "$out/bench_cuda_$figure.log"
  done
  echo
  echo "summary"
  cat "$summary"
  exit $failures
fi
step info 60 "$build/throng" info
cat "$out/info.log"
gpus=$(nvidia-smi -L 2>/dev/null | grep -c '^GPU')
for program in "$build"/*_gpu_*; do
  [ -x "$program" ] || continue
  test=$(basename "$program")
  if [ -n "$only" ] && [ "$test" != "$only" ]; then continue; fi
  words=$(words_of "$test" RUN)
  for word in ${words:-$test}; do
    if [ "$word" = "$test" ]; then
      step "$test" 150 "$program"
      log=$test
    else
      step "${test}_$word" 100 "$program" "$word"
      log=${test}_$word
    fi
    grep -E 'FAILED|not so|says|passed' "$out/$log.log" | head -n 40
  done
  for word in $(words_of "$test" RUN-MPI); do
    log=${test}_mpi_2_$word
    if ! command -v mpirun >/dev/null 2>&1; then
      say "$(printf '%-18s skipped        mpirun is not installed' "$log")"
      continue
    fi
    # shellcheck disable=SC2086 # a list of words
    step "$log" 120 $launch "$program" "$word"
    grep -E 'FAILED|not so|rounds|passed' "$out/$log.log" | head -n 40
  done
done
if [ -z "$only" ] && "$build/throng" help 2>/dev/null | grep -q 'bench halo'; then
  # one process: 45,000 and 180,000 atoms, 2x1x1, 2x2x1 and 2x2x2 PEs, every schedule, force return and
  # bulk copies, on two GPUs, then on one
  step bench_halo 200 "$build/throng" bench halo --json-lines "$out/halo.jsonl"
  cat "$out/bench_halo.log"
  step bench_halo_cpus 60 "$build/throng" bench halo --gpus 0 --json-lines "$out/halo_cpus.jsonl"
  cat "$out/bench_halo_cpus.log"
  if [ "$gpus" -ge 2 ] && command -v mpirun >/dev/null 2>&1; then
    # two processes, a GPU each, both sizes in one dimension: nvshmem by stores and by puts, and
    # messages staged through the hosts
    if [ "$preset" = nvshmem ]; then
      # shellcheck disable=SC2086 # a list of words
      step bench_halo_nvshmem 120 $launch "$build/throng" bench halo --transport nvshmem \
        --json-lines "$out/halo_nvshmem.jsonl"
      cat "$out/bench_halo_nvshmem.log"
    fi
    # shellcheck disable=SC2086 # a list of words
    step bench_halo_mpi 60 $launch "$build/throng" bench halo --transport mpi --halo host \
      --json-lines "$out/halo_mpi.jsonl"
    cat "$out/bench_halo_mpi.log"
  fi
  step bench_trace 60 "$build/throng" bench halo --trace "$out/halo-trace.json"
fi
echo
echo "summary"
cat "$summary"
exit $failures
