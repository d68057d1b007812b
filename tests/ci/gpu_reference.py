#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every case of the reference data on a GPU: `throng ci solve --backend cuda` against the levels of other programs.

gpu_reference.py THRONG [DATA [STORAGE...]]: DATA is the folder of reference.json (default ../shared/data/ci), STORAGE
fly, stored (default both; what the matrix does not fit is left to fly). Exit code 77 (skipped) without the data or a
GPU. Levels of nuclei must agree to 2e-5 MeV, their J too; molecules to 1e-8 Ha.
"""
import json
import pathlib
import subprocess
import sys
import time

MEV, HA = 2e-5, 1e-8
WORDS = {"--protons": "protons", "--neutrons": "neutrons", "--two-m": "two_m", "--nmax": "nmax"}


def solve(throng, path, words, storage):
    command = [throng, "ci", "solve", "-i", str(path), "--backend", "cuda", "--storage", storage, "--json", *words]
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


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    throng = sys.argv[1]
    data = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else "../shared/data/ci")
    if not (data / "reference.json").exists():
        print(f"skipped: no reference data in {data}")
        sys.exit(77)
    reference = json.loads((data / "reference.json").read_text())
    failures = 0
    for name, path, words, case in cases_of(reference, data):
        for storage in sys.argv[3:] or ["fly", "stored"]:
            found, took, why = solve(throng, path, words, storage)
            worst = float("nan")
            if found:
                why, worst = (judge_nucleus if "levels_MeV" in case else judge_molecule)(case, found)
            if "no NVIDIA driver" in why or "no usable GPU" in why:
                print(f"skipped: {why}")
                sys.exit(77)
            failures += bool(why)
            wall = found["wall_s"] if found else float("nan")
            print(f"{name:24} {storage:7} {'FAILED ' + why if why else 'ok':10} worst {worst:.1e}, {wall:.3f} s from start "
                  f"to table, {took:.2f} s in all", flush=True)
    print("all agree" if not failures else f"{failures} FAILED")
    sys.exit(failures != 0)


if __name__ == "__main__":
    main()
