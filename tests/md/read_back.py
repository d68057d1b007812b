# SPDX-License-Identifier: Apache-2.0
"""Reads the frames that test_trajectory writes with MDAnalysis and compares them; the packed size too.

python read_back.py WRITER: WRITER is the test program. Exit code 77 (skipped) without MDAnalysis.
"""
import pathlib
import subprocess
import sys
import tempfile

try:
    import numpy as np
    from MDAnalysis.lib.formats.libmdaxdr import TRRFile, XTCFile
except ImportError as error:
    print(f"skipped: {error}; ./dev deps mdanalysis fetches it")
    sys.exit(77)

PRECISION = 1000.0


def expect(condition, path, what):
    if not condition:
        sys.exit(f"{path.name}: {what}")


def frames_of(path):
    """The positions and velocities that were written, frame by frame."""
    count = int(path.name.split("_")[1].split(".")[0])
    raw = np.fromfile(path.parent / (path.name.split(".")[0] + ".raw"))
    return raw.reshape(2, 2, count, 3)


def check_file(path, opener):
    with opener(str(path)) as trajectory:
        frames = list(trajectory)
    expect(len(frames) == 2, path, f"{len(frames)} frames instead of 2")
    for i, (frame, (x, v)) in enumerate(zip(frames, frames_of(path))):
        expect(frame.step == 10 + 5 * i and frame.time == 0.5 + i, path, "step or time differ")
        expect(np.array_equal(frame.box, np.diag([3.5, 4.5, 5.5])), path, "box differs")
        # half a unit in the last place, and single precision in the writer's and the reader's numbers
        rounding = 0.5 / PRECISION if opener is XTCFile and len(x) > 9 else 0
        tolerance = rounding + 2 * np.finfo(np.float32).eps * np.abs(x)
        expect((np.abs(frame.x - x) <= tolerance).all(), path, "positions differ")
        if opener is TRRFile:
            for part in (frame.v, frame.f):
                expect(np.array_equal(part, v.astype(np.float32)), path, "velocities or forces differ")


def check_size(path):
    """Another writer's file of the same frames has the same size, to 2 %.

    Frames with steps of more than 16 micrometres are left out: that writer runs past its table there.
    """
    if any(np.abs(np.diff(x, axis=0)).max(initial=0) > 16e3 for x, _ in frames_of(path)):
        return False
    other = path.with_suffix(".other.xtc")
    with XTCFile(str(other), "w") as out:
        for i, (x, _) in enumerate(frames_of(path)):
            box = np.diag([3.5, 4.5, 5.5]).astype(np.float32)
            out.write(x.astype(np.float32), box, 10 + 5 * i, 0.5 + i, PRECISION)
    ours, theirs = path.stat().st_size, other.stat().st_size
    expect(abs(ours - theirs) <= 0.02 * theirs, path, f"{ours} bytes, other writers need {theirs}")
    return path.read_bytes() == other.read_bytes()


def main():
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.argv[1], folder], check=True)
        paths = sorted(pathlib.Path(folder).iterdir())
        same = 0
        xtc = [path for path in paths if path.suffix == ".xtc"]
        for path in paths:
            if path.suffix == ".trr":
                check_file(path, TRRFile)
        for path in xtc:
            check_file(path, XTCFile)
            same += check_size(path)
        expect(len(xtc) > 0, pathlib.Path(folder), "nothing was written")
        print(f"{len(xtc)} .xtc files agree, {same} of them to the last byte")


main()
