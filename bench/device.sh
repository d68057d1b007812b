#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds throng on a machine with GPUs, checks the device code, then measures it: about 8 minutes at
# most. Logs go to $OUT if it is set, else to build/device. The short table comes last.
#   bench/device.sh [PRESET [NAME]]
#                                cuda (default) or nvshmem: found by NVSHMEM_HOME, or in build/deps
#                                (./dev deps nvshmem); its tests run under mpirun, a GPU per process.
#                                NAME: only this test, such as comm_gpu_nvshmem, and no benchmark
#   bench/device.sh directives [BACKEND [PARTS]]
#                                the motifs by OpenACC and OpenMP target instead: each version's tests in a process
#                                of its own with a time limit, and the benchmark. BACKEND: all (default), acc,
#                                offload or offload-clang. Their modules are this build's or, where the machine's
#                                compilers have no offloading, those in $TG_MODULES (made elsewhere; GCC's
#                                libgomp.so.1 and libgomp-plugin-nvptx.so.1 beside them)
#   bench/device.sh motifs [PARTS]
#                                the motifs by CUDA instead, in the same way; memcheck and racecheck on small cases
#                                PARTS: pairs,large,scan,reduce,dense (tests), memcheck,racecheck (of these kinds, by CUDA),
#                                8,11,13,15,items (benchmarks; items: reduction of items, at full size);
#                                default: all
#   bench/device.sh cards [PRESET]
#                                molecular dynamics on several GPUs: flags between them, domains, whole runs in several
#                                ways to the same bytes, and the benchmark of steps. PRESET: cuda (default) or nvshmem
#   bench/device.sh ci [PRESET]
#                                configuration interaction on several GPUs: products, sums and levels of PEs on one and
#                                two GPUs, and how much faster two are; DATA: the folder of kb3g.snt's
#   bench/device.sh acc          configuration interaction by OpenACC: matrix, vectors and levels against the host's, and
#                                times; the module as for directives, DATA as for ci
#   TG_NO_BUILD=1 bench/device.sh ...
#                                with what is built already
#   bench/device.sh sanitize     compute-sanitizer instead: memory, barriers, shared memory; a minute
set -u
cd "$(dirname "$0")/.." || exit 3
preset=${1:-cuda}
only=${2:-}
parts=${3:-all}
sanitize=
[ "$preset" != sanitize ] || { sanitize=1 preset=cuda; }
directives=
[ "$preset" != directives ] || { directives=1 preset=cuda; }
motifs=
[ "$preset" != motifs ] || { motifs=1 preset=cuda parts=${2:-all}; }
cards=
[ "$preset" != cards ] || { cards=1 preset=${2:-cuda} only=; }
acc=
[ "$preset" != acc ] || { acc=1 preset=cuda only=; }
ci=
[ "$preset" != ci ] || { ci=1 preset=${2:-cuda} only=; }
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

# Is the part of the motifs among those asked for?
wanted() { case ",$parts," in *,all,* | *",$1,"*) ;; *) return 1 ;; esac; }

# one_version LOG SECONDS BACKEND VERSION TESTS COMMAND...: the version's tests in a process of its own; its exit
# status and seconds into LOG.code
one_version() {
  log=$1 limit=$2 words="TG_TEST_BACKEND=$3" version="TG_TEST_VERSION==$4" tests="TG_TEST_ONLY=$5"
  shift 5
  began=$(date +%s)
  env "$words" "$version" "$tests" TG_TEST_LARGE=1 timeout -k 2 "$limit" "$@" >"$log" 2>&1 </dev/null
  echo "$? $(($(date +%s) - began))" >"$log.code"
}

# versions BACKEND KIND SECONDS TESTS [COMMAND...]: the tests of each version that the backend has of a kind
# (motif_gpu_motif versions), four processes at a time, before the program's name the words of COMMAND. Those
# that passed are left in $passed, parted by commas.
versions() {
  backend=$1 kind=$2 limit=$3 tests=$4
  shift 4
  list=$out/versions_$backend.txt side=0 passed=
  label=$backend${1:+_$(echo "$*" | sed 's/.*--tool \([a-z]*\).*/\1/')}
  if ! TG_TEST_BACKEND=$backend timeout 60 "$build/motif_gpu_motif" versions >"$list" 2>"$list.log"; then
    failures=$((failures + 1))
    say "$label: its versions are not known: $(tail -n 1 "$list.log")"
    return
  fi
  sed -n "s/^$kind	//p" "$list" >"$list.kind"
  while read -r version; do
    log=$out/${label}_${kind}_$(echo "$version" | tr ' ' _).log
    one_version "$log" "$limit" "$backend" "$version" "$tests" "$@" "$build/motif_gpu_motif" &
    side=$((side + 1))
    [ $((side % 4)) -ne 0 ] || wait
  done <"$list.kind"
  wait
  while read -r version; do
    log=$out/${label}_${kind}_$(echo "$version" | tr ' ' _).log
    read -r code took <"$log.code"
    case $code in
      0) how=passed passed="${passed:+$passed,}=$version" ;;
      124 | 137) how="HUNG after $(grep -c '^passed' "$log") tests" ;;
      1) how=FAILED ;;
      *) how="CRASHED ($code)" ;;
    esac
    say "$(printf '%-20s %-30s %3d s  %s' "$label $kind" "$version" "$took" "$how")"
    [ "$code" -eq 0 ] && continue
    failures=$((failures + 1))
    tail -n 6 "$log"
  done <"$list.kind"
}

# motif_tests BACKEND: the tests of its versions, of the kinds that are wanted. $finishing: versions of pairs that
# passed, or "" if that is not known.
motif_tests() {
  finishing=
  if wanted pairs; then
    versions "$1" pairs 20 every_version_finds_the_hits,blocks_keep_global_numbers,slices_are_sets,tiles_skip_no_hit,long_rows_are_filled
    finishing=$passed
    if wanted large && [ -n "$finishing" ]; then
      step "$1_large" 60 env TG_TEST_BACKEND="$1" TG_TEST_VERSION="$finishing" TG_TEST_LARGE=1 TG_TEST_NAMES=1 \
        TG_TEST_ONLY=a_large_rectangle_agrees "$build/motif_gpu_motif"
    fi
  fi
  if wanted scan; then versions "$1" scan 60 every_scan_is_exact,long_scans_are_exact; fi
  if wanted reduce; then versions "$1" reduce 30 every_reduce_is_within_the_bound; fi
  if wanted dense; then versions "$1" dense 30 every_dense_reduce_is_within_the_bound; fi
}

# finishing WORD,WORD...: those words, or the versions with one of them in their names that are known to finish;
# not those of lists alone, which the benchmark has in figure 7 only
finishing() {
  [ -n "$finishing" ] || { echo "$1" && return; }
  echo "$finishing" | tr ',' '\n' | grep -v '^=array' | grep -E "$(echo "$1" | tr ',' '|')" | paste -sd ,
}

# motif_bench BACKEND FIGURE SECONDS WORDS...: a figure and its JSON lines
motif_bench() {
  backend=$1 figure=$2 limit=$3
  shift 3
  wanted "$figure" || return 0
  number=$figure
  [ "$figure" != items ] || number=15
  step "bench_${backend}_$figure" "$limit" "$build/throng" bench motif --backend "$backend" --figure "$number" \
    --repeats 3 --json-lines "$out/motif_${backend}_$figure.jsonl" "$@"
  cat "$out/bench_${backend}_$figure.log"
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

if [ -z "${TG_NO_BUILD:-}" ]; then
  step configure 60 cmake --preset "$preset" -DTG_TESTS=OFF -DCMAKE_CUDA_ARCHITECTURES=90 || exit 1
  step build 240 cmake --build "build/$preset" --parallel "$(nproc)" || exit 1
fi
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
if [ -n "$ci" ]; then
  gpus=$(nvidia-smi -L 2>/dev/null | grep -c '^GPU')
  step ci_gpu_pes 60 "$build/ci_gpu_pes"
  step ci_gpu_outlet 60 "$build/ci_gpu_outlet"
  step ci_gpu_solve_pes 120 "$build/ci_gpu_solve" pes
  grep -E 'FAILED|not so|passed' "$out/ci_gpu_pes.log" "$out/ci_gpu_outlet.log" "$out/ci_gpu_solve_pes.log" | head -n 40
  if [ "$preset" = nvshmem ] && [ "$gpus" -ge 2 ] && command -v mpirun >/dev/null 2>&1; then
    # shellcheck disable=SC2086 # a list of words
    step ci_gpu_pes_mpi_2 60 $launch "$build/ci_gpu_pes" nvshmem
    # shellcheck disable=SC2086 # a list of words
    step ci_solve_mpi_2 60 $launch "$build/throng" ci solve -i usdb --protons 6 --neutrons 6 \
      --backend cuda --transport nvshmem
    cat "$out/ci_gpu_pes_mpi_2.log" "$out/ci_solve_mpi_2.log"
  fi
  numbers=1
  [ "$gpus" -lt 2 ] || numbers=1,2
  [ "$gpus" -lt 4 ] || numbers=1,2,4
  step bench_ci_gpus 120 "$build/throng" bench ci --case 28Si --case 48Cr --gpus $numbers \
    --data "${DATA:-../shared/data/ci}"
  cat "$out/bench_ci_gpus.log"
  echo
  echo "summary"
  cat "$summary"
  exit $failures
fi
if [ -n "$acc" ]; then
  if [ -n "${TG_MODULES:-}" ]; then
    export LD_LIBRARY_PATH="$TG_MODULES${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
  fi
  step info 60 "$build/throng" info
  step ci_gpu_slices 60 "$build/ci_gpu_slices"
  grep -E 'FAILED|not so|passed' "$out/ci_gpu_slices.log"
  data=${DATA:-../shared/data/ci}
  step time_28Si 30 "$build/ci_gpu_slices" time builtin:usdb 6 6
  cat "$out/time_28Si.log"
  step solve_28Si 30 "$build/throng" ci solve -i usdb --protons 6 --neutrons 6 --backend acc
  tail -n 3 "$out/solve_28Si.log"
  if [ -r "$data/snt/kb3g.snt" ]; then
    step time_48Cr 60 "$build/ci_gpu_slices" time "$data/snt/kb3g.snt" 4 4
    cat "$out/time_48Cr.log"
    step solve_48Cr 60 "$build/throng" ci solve -i "$data/snt/kb3g.snt" --protons 4 --neutrons 4 --states 5 \
      --backend acc
    tail -n 3 "$out/solve_48Cr.log"
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
  for model in acc offload offload-clang; do
    [ "${only:-all}" = all ] || [ "$only" = $model ] || continue
    if ! grep -E "^(Motifs)? +$model +yes" "$out/info.log" | grep -qv 'on the host'; then
      say "$(printf '%-18s skipped        does not run on a GPU here (throng info)' "$model")"
      continue
    fi
    motif_tests $model
    # what crawls by GCC's OpenMP is left out of the long figures: a row to a team, and atomics of doubles
    motif_bench $model 8 90 --budget 1000
    motif_bench $model 11 60 --budget 1000 --items 67108864 --version sweep,two_pass,host
    motif_bench $model 13 90 --budget 1000 --version "$(finishing lanes,ranked,simd)"
    motif_bench $model 15 90 --budget 1000 --items 65536
    motif_bench $model items 60 --rows 1024 --columns 1024 --items 33554432 \
      --version private,chunks,scalars,clause
  done
  echo
  echo "summary"
  cat "$summary"
  exit $failures
fi
if [ -n "$motifs" ]; then
  step info 60 "$build/throng" info
  motif_tests cuda
  export TG_TEST_MOST=5000 # elements, items or pairs: checkers are slow
  for tool in memcheck racecheck; do
    wanted $tool || continue
    check="compute-sanitizer --tool $tool --error-exitcode 9"
    # shellcheck disable=SC2086 # a list of words
    {
      wanted pairs && versions cuda pairs 60 slices_are_sets,tiles_skip_no_hit $check
      wanted scan && versions cuda scan 60 every_scan_is_exact $check
      wanted reduce && versions cuda reduce 60 every_reduce_is_within_the_bound $check
      wanted dense && versions cuda dense 60 every_dense_reduce_is_within_the_bound $check
    }
  done
  unset TG_TEST_MOST
  for figure in 8 11 13 15; do motif_bench cuda $figure 90; done
  motif_bench cuda items 60 --rows 1024 --columns 1024 --items 33554432 --version private,chunks,scalars
  echo
  echo "summary"
  cat "$summary"
  exit $failures
fi
if [ -n "$cards" ]; then
  gpus=$(nvidia-smi -L 2>/dev/null | grep -c '^GPU')
  step md_gpu_cards 60 "$build/md_gpu_cards"
  if [ "$preset" = nvshmem ] && [ "$gpus" -ge 2 ] && command -v mpirun >/dev/null 2>&1; then
    for word in $(words_of md_gpu_cards RUN-MPI); do
      # shellcheck disable=SC2086 # a list of words
      step "md_gpu_cards_mpi_$word" 60 $launch "$build/md_gpu_cards" "$word"
    done
  fi
  step md_gpu_domains 90 "$build/md_gpu_domains"
  step md_gpu_halo 120 "$build/md_gpu_halo"
  step md_gpu_times 60 "$build/md_gpu_times"
  step md_gpu_balance 90 "$build/md_gpu_balance"
  step md_cards_runs 120 tests/md/cards.sh "$build/throng"
  grep -E 'FAILED|passed|interrupted|processing|kernels' "$out/md_cards_runs.log"
  step bench_md_domains 60 "$build/throng" bench md --pe 1,2,4,8 --replicate 2x2x2 --repeats 7
  cat "$out/bench_md_domains.log"
  if [ "$gpus" -ge 2 ]; then
    numbers=1,2
    [ "$gpus" -lt 4 ] || numbers=1,2,4
    [ "$gpus" -lt 8 ] || numbers=1,2,4,8
    step bench_md_cards 200 "$build/throng" bench md --gpus $numbers --halo all --repeats 7
    cat "$out/bench_md_cards.log"
  fi
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
