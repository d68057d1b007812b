#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds throng on a machine with GPUs, checks the device code, then measures it: about 8 minutes at
# most. Logs go to $OUT if it is set, else to build/device. The short table comes last.
#   bench/device.sh [PRESET]     cuda (default) or nvshmem
#   bench/device.sh sanitize     compute-sanitizer instead: memory, barriers, shared memory; a minute
set -u
cd "$(dirname "$0")/.." || exit 3
preset=${1:-cuda}
sanitize=
[ "$preset" != sanitize ] || { sanitize=1 preset=cuda; }
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
  if [ $code -eq 0 ]; then
    say "$(printf '%-18s ok      %3d s  %s' "$name" $took "$(tail -n 1 "$out/$name.log" | cut -c1-90)")"
  else
    failures=$((failures + 1))
    say "$(printf '%-18s FAILED (%d) %3d s' "$name" $code $took)"
    tail -n 25 "$out/$name.log"
  fi
  return $code
}

step configure 60 cmake --preset "$preset" -DTG_TESTS=OFF -DCMAKE_CUDA_ARCHITECTURES=90 || exit 1
step build 240 cmake --build "build/$preset" --parallel "$(nproc)" || exit 1
build=build/$preset
if [ -n "$sanitize" ]; then
  for tool in memcheck synccheck racecheck; do
    step "$tool" 120 env CUDA_VISIBLE_DEVICES=0 compute-sanitizer --tool $tool --error-exitcode 9 \
      "$build/halo_gpu_halo" 1 quick
    grep -E 'FAILED|passed|ERROR SUMMARY|hazard' "$out/$tool.log" | head -n 20
  done
  echo
  echo "summary"
  cat "$summary"
  exit $failures
fi
step info 60 "$build/throng" info
cat "$out/info.log"
for program in "$build"/*_gpu_*; do
  [ -x "$program" ] || continue
  name=$(basename "$program")
  step "$name" 150 "$program"
  grep -E 'FAILED|not so|passed' "$out/$name.log" | head -n 40
done
if "$build/throng" help 2>/dev/null | grep -q 'bench halo'; then
  step bench_halo 200 "$build/throng" bench halo --json-lines "$out/halo.jsonl"
  cat "$out/bench_halo.log"
  step bench_trace 60 "$build/throng" bench halo --trace "$out/halo-trace.json"
fi
echo
echo "summary"
cat "$summary"
exit $failures
