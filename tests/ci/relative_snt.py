#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tools/relative_snt.py: what it writes against throng's own kinetic energy, and closed forms.

relative_snt.py PROGRAM TOP"""
import json
import math
import os
import subprocess
import sys
import tempfile

PROGRAM, TOP = map(os.path.abspath, sys.argv[1:3])
HEAD = "# RELATIVE LSJT\n 1\n 0 0 0 0 0\n 20 4\n"
SHARED = os.path.join(TOP, "..", "shared", "data", "ci", "relative", "jisp16_Nmax20_hw20.0_rel.dat")


def transform(source, protons, neutrons, nmax, output, *words):
    line = [sys.executable, os.path.join(TOP, "tools", "relative_snt.py"), source, "--hw", "20"]
    line += ["--protons", str(protons), "--neutrons", str(neutrons), "--nmax", str(nmax)]
    return subprocess.run([*line, "-o", output, *words], capture_output=True, text=True)


def levels(source, protons, neutrons, nmax, states, *words):
    line = [PROGRAM, "ci", "solve", "-i", source, "--nmax", str(nmax), "--states", str(states)]
    line += ["--protons", str(protons), "--neutrons", str(neutrons), "--json", *words]
    line += ["--tolerance", "1e-6"]
    done = subprocess.run(line, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return [level["energy_MeV"] for level in json.loads(done.stdout)["levels"]]


def expect(found, wanted, tolerance, what):
    assert len(found) == len(wanted), what
    for x, y in zip(found, wanted):
        assert abs(x - y) < tolerance, f"{what}: {x}, expected {y}"
    print(f"{what}: {len(found)} levels")


os.chdir(tempfile.mkdtemp())
with open("nothing.dat", "w") as stream:
    stream.write(HEAD)

# without interaction: throng adds the same kinetic energy in another way. Elements are written with
# 11 digits behind the point, and some thousand of them add up in a level.
made = transform("nothing.dat", 2, 1, 4, "kinetic.snt")
assert made.returncode == 0, made.stderr
with open("kinetic.snt") as stream:
    lines = [line for line in stream if not line.startswith("!")]
orbits = sum(map(int, lines[0].split()[:2]))
with open("nothing.snt", "w") as stream:
    stream.writelines(lines[: orbits + 1] + ["0 0\n", "0 0\n"])
expect(
    levels("kinetic.snt", 2, 1, 4, 8, "--parity", "+"),
    levels("nothing.snt", 2, 1, 4, 8, "--parity", "+", "--trel", "--hw", "20"),
    1e-7,
    "kinetic energy",
)

# two protons in the lowest oscillator state: 3/4 hw, and sqrt(2/pi) e^2/b
made = transform("nothing.dat", 2, 0, 0, "coulomb.snt", "--coulomb")
assert made.returncode == 0, made.stderr
b = 197.327 / math.sqrt(938.92 * 20)
expect(
    levels("coulomb.snt", 2, 0, 0, 1),
    [15 + math.sqrt(2 / math.pi) * 197.327 / 137.036 / b],
    1e-9,
    "two protons",
)

# an interaction of one strength in all waves: so much for each of the three pairs
with open("constant.dat", "w") as stream:
    stream.write(HEAD)
    for e in range(21):
        for l in range(e % 2, e + 1, 2):
            for S in (0, 1):
                for j in range(abs(l - S), l + S + 1):
                    T = (l + S + 1) % 2
                    stream.write(f" 0  {e} {l} {S} {j} {T}  {e} {l} {S} {j} {T}  -1.5\n")
made = transform("constant.dat", 2, 1, 2, "constant.snt")
assert made.returncode == 0, made.stderr
made = transform("nothing.dat", 2, 1, 2, "nothing.snt")
assert made.returncode == 0, made.stderr
expect(
    levels("constant.snt", 2, 1, 2, 5, "--parity", "+"),
    [e - 4.5 for e in levels("nothing.snt", 2, 1, 2, 5, "--parity", "+")],
    1e-7,
    "the same in all waves",
)

# what is refused
with open("two.dat", "w") as stream:
    stream.write(HEAD.replace("0 0 0 0 0", "0 0 0 2 0"))
for source, words in (("two.dat", "two.dat:3: J0 g0"), ("missing.dat", "No such file")):
    made = transform(source, 2, 1, 2, "refused.snt")
    assert made.returncode == 1 and words in made.stderr, made.stderr
    assert not os.path.exists("refused.snt")
GOOD = "0  1 1 0 1 0  1 1 0 1 0  -1.5\n"
for text, words in (
    (HEAD + GOOD.replace("-1.5", "nan"), "finite number"),
    (HEAD + GOOD.replace("-1.5", ""), "twice N L S J T"),
    (HEAD + GOOD.replace("-1.5", "-1.5 2"), "twice N L S J T"),
    (HEAD + GOOD + GOOD.replace("-1.5", "2"), "there already"),
    (HEAD + GOOD.replace("1 1 0 1 0", "1 1 0 1 1"), "no state of two nucleons"),
    (HEAD + GOOD.replace("1 1 0 1 0", "21 1 0 1 0"), "no state of two nucleons"),
    (HEAD.replace("20 4", "x 4"), "Nmax Jmax are x 4"),
    ("\udcff\n" + HEAD, "is not text"),
):
    with open("bad.dat", "w", encoding="utf-8", errors="surrogateescape") as stream:
        stream.write(text)
    made = transform("bad.dat", 2, 1, 2, "refused.snt")
    assert made.returncode == 1 and words in made.stderr, (text, made.stderr)
    assert "Traceback" not in made.stderr and not os.path.exists("refused.snt")
for output, words in (("nowhere/x.snt", "cannot be written"), ("nothing.dat", "would overwrite")):
    made = transform("nothing.dat", 2, 0, 0, output)
    assert made.returncode == 1 and words in made.stderr, made.stderr
made = transform("nothing.dat", 2, 0, 0, "refused.snt", "--hw", "inf")
assert made.returncode == 1 and "finite hw" in made.stderr, made.stderr
made = transform("nothing.dat", 2, 1, 30, "refused.snt")
assert made.returncode == 1 and "needs 30" in made.stderr, made.stderr

# 3He of JISP16: MFDn has -4.396
if os.path.exists(SHARED):
    made = transform(SHARED, 2, 1, 2, "he3.snt", "--coulomb")
    assert made.returncode == 0, made.stderr
    expect(levels("he3.snt", 2, 1, 2, 1, "--parity", "+"), [-4.39584], 2e-5, "3He")
