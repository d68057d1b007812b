#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every case of the reference data on a GPU: `throng ci solve --backend cuda` against the levels of other programs.

gpu_reference.py [--gpus N] [--jobs N] THRONG [DATA [STORAGE...]]: DATA is the folder of reference.json (default
../shared/data/ci), STORAGE fly, stored, mixed (default fly and stored). --gpus: GPUs that share the states of each case
(default 1); --jobs: cases at the same time (default 1: else times mean little). Exit code 77 (skipped) without the data
or a GPU. Levels of nuclei must agree to 2e-5 MeV, their J too; molecules to 1e-8 Ha.
"""
import argparse
import concurrent.futures
import json
import pathlib
import subprocess
import sys
import time

MEV, HA = 2e-5, 1e-8
WORDS = {"--protons": "protons", "--neutrons": "neutrons", "--two-m": "two_m", "--nmax": "nmax"}


def solve(options, path, words, storage):
    command = [options.throng, "ci", "solve", "-i", str(path), "--backend", "cuda", "--storage", storage, "--json",
               "--gpus", str(options.gpus), *words]
    began = time.time()
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    took = time.time() - began
    if run.returncode != 0:
        return None, took, run.stderr.strip()
    return json.loads(run.stdout), took, ""


def judge_nucleus(case, found):
    worst = 0.0
    parity = [level for level in found["levels"] if level["parity"] == found["levels"][0]["parity"]]
    for number, (energy, spin) in enumerate(case["levels_MeV"]):
        if number >= len(parity):
            return f"only {len(parity)} levels", worst
        level = parity[number]
        worst = max(worst, abs(level["energy_MeV"] - energy))
        if level.get("J") != spin:
            return f"level {number + 1} has J {level.get('J')}, not {spin}", worst
    return "" if worst <= MEV else "levels differ", worst


def judge_molecule(case, found):
    energies = sorted(level["energy_Ha"] for level in found["levels"])
    worst = abs(energies[0] - case["E_Ha"])
    return "" if worst <= HA else "the energy differs", worst


def cases_of(reference, data):
    for case in reference["nuclear"]:
        words = []
        for option, key in WORDS.items():
            if key in case:
                words += [option, str(case[key])]
        yield case["case"], data / case["interaction"], words + ["--states", str(len(case["levels_MeV"]))], case
    for case in reference["chemistry"]:
        name = case["case"].split(" and ")[0]
        for path in sorted((data / "fcidump").glob(name.rsplit(".RHF", 1)[0] + "*.FCIDUMP")):
            yield path.stem, path, ["--states", "1"], case


def check(options, case, storage):
    """The line to print, and whether that case has failed, or there is no GPU (None)."""
    name, path, words, expected = case
    found, took, why = solve(options, path, words, storage)
    worst = float("nan")
    if found:
        why, worst = (judge_nucleus if "levels_MeV" in expected else judge_molecule)(expected, found)
    if "no NVIDIA driver" in why or "no usable GPU" in why:
        return f"skipped: {why}", None
    wall = found["wall_s"] if found else float("nan")
    return (f"{name:24} {storage:7} {'FAILED ' + why if why else 'ok':10} worst {worst:.1e}, {wall:.3f} s from start to "
            f"table, {took:.2f} s in all"), bool(why)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gpus", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("throng")
    parser.add_argument("data", nargs="?", type=pathlib.Path, default=pathlib.Path("../shared/data/ci"))
    parser.add_argument("storage", nargs="*")
    options = parser.parse_args()
    if not (options.data / "reference.json").exists():
        print(f"skipped: no reference data in {options.data}")
        sys.exit(77)
    reference = json.loads((options.data / "reference.json").read_text())
    failures = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        running = [pool.submit(check, options, case, storage) for case in cases_of(reference, options.data)
                   for storage in options.storage or ["fly", "stored"]]
        for one in running:
            line, failed = one.result()
            print(line, flush=True)
            if failed is None:
                pool.shutdown(cancel_futures=True)
                sys.exit(77)
            failures += failed
    print("all agree" if not failures else f"{failures} FAILED")
    sys.exit(failures != 0)


if __name__ == "__main__":
    main()
