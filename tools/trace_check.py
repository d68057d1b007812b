#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks a timeline that throng wrote with --trace, and tells what is in it.

    tools/trace_check.py FILE           checks, then counts per process and line
    tools/trace_check.py FILE --spans   the spans of every line: begin, length in us, what

Checked: every event lies on a named line; spans of a line follow each other or nest; an arrow has
one beginning, on another line than its ends, and each of them an arrival."""
import collections
import json
import sys

SLACK = 1e-3  # us: times are written to the ns, and two roundings may meet


def load(path):
    with open(path) as stream:
        data = json.load(stream)
    return data["traceEvents"], data["otherData"]


def names_of(events):
    processes, lines = {}, {}
    for e in events:
        if e["ph"] != "M":
            continue
        if e["name"] == "process_name":
            processes[e["pid"]] = e["args"]["name"]
        if e["name"] == "thread_name":
            assert (e["pid"], e["tid"]) not in lines, "a line named twice"
            lines[e["pid"], e["tid"]] = e["args"]["name"]
    return processes, lines


def check_nesting(spans, where):
    open_ends = []
    for e in spans:
        begin, end = e["ts"], e["ts"] + e["dur"]
        assert begin >= 0 and e["dur"] >= 0, (where, e)
        while open_ends and open_ends[-1] <= begin + SLACK:
            open_ends.pop()
        assert not open_ends or end <= open_ends[-1] + SLACK, ("spans overlap", where, e)
        open_ends.append(end)


def check_arrows(events):
    """An arrow has one beginning; several waits may be for it."""
    starts, ends = {}, collections.defaultdict(list)
    for e in events:
        if e["ph"] == "s":
            assert e["id"] not in starts, ("arrow used twice", e)
            starts[e["id"]] = e
        if e["ph"] == "f":
            ends[e["id"]].append(e)
    assert starts.keys() == ends.keys(), "an arrow lacks an end"
    for number, start in starts.items():
        for end in ends[number]:
            assert start["tid"] != end["tid"], ("an arrow to its own line", start)
    return len(starts), sum(map(len, ends.values()))


def main():
    events, notes = load(sys.argv[1])
    processes, lines = names_of(events)
    by_line = collections.defaultdict(list)
    for e in events:
        assert e["pid"] in processes, e
        if e["ph"] in "Xi":
            assert (e["pid"], e["tid"]) in lines, e
        if e["ph"] == "X":
            by_line[e["pid"], e["tid"]].append(e)
    for where, spans in by_line.items():
        spans.sort(key=lambda e: (e["ts"], -e["dur"]))
        check_nesting(spans, where)
    arrows, ends = check_arrows(events)
    assert arrows == notes["arrows"], "arrows"
    arrived = sum(e["ph"] == "i" and e["name"] == "arrived" for e in events)
    assert arrived == ends, "an arrival without its arrow"
    for key, value in notes.items():
        print(f"{key}: {value}")
    for pid, name in processes.items():
        print(name)
        for (p, tid), line in lines.items():
            if p != pid:
                continue
            spans = by_line[p, tid]
            if "--spans" in sys.argv[2:]:
                print(f"  {line}:")
                for e in spans:
                    facts = " ".join(f"{k} {v}" for k, v in e.get("args", {}).items())
                    print(f"    {e['ts']:9.2f} {e['dur']:7.2f}  {e['name']}  {facts}")
            else:
                counts = collections.Counter(e["name"] for e in spans)
                print(f"  {line}: " + ", ".join(f"{n} {c}" for n, c in counts.items()))


if __name__ == "__main__":
    main()
