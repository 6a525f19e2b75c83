#!/usr/bin/env python3
"""Runs the commands of a transcript and compares what they print with what it says they print.

    examples/replay.py PAGE TESSERA [--update]

A page has its transcript between ```console and ```. A line that begins with "$ " is a command for
sh; the lines after it are its output, both streams together, empty lines at the end apart. In them …
stands for anything within a line, and a line that is only … for any number of lines. Commands run in an empty folder that has experiments/ in it, with TESSERA first on the PATH.
--update writes what was printed into the page, keeping the lines that still match.
"""
import itertools
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ANYTHING = "…"


def steps(lines):
    """Cuts a transcript into (command, expected lines)."""
    found = []
    for line in lines:
        if line.startswith("$ "):
            found.append((line[2:], []))
        elif found:
            found[-1][1].append(line)
    return found


def line_matches(expected, actual):
    return re.fullmatch(".*".join(map(re.escape, expected.split(ANYTHING))), actual) is not None


def matches(expected, actual):
    if not expected:
        return not actual
    if expected[0] == ANYTHING:
        return any(matches(expected[1:], actual[i:]) for i in range(len(actual) + 1))
    return bool(actual) and line_matches(expected[0], actual[0]) and matches(expected[1:], actual[1:])


def run(command, folder, program):
    environment = dict(os.environ, PATH=f"{program.parent}:{os.environ['PATH']}", LC_ALL="C.UTF-8")
    done = subprocess.run(command, shell=True, cwd=folder, env=environment, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.stdout.rstrip("\n").split("\n") if done.stdout.strip() else []


def without_end(lines):
    while lines and not lines[-1].strip():
        lines = lines[:-1]
    return lines


def updated(expected, actual):
    pairs = itertools.zip_longest(expected[:len(actual)], actual)
    return [old if old is not None and line_matches(old, new) else new for old, new in pairs]


def replay(lines, folder, program, update):
    """The transcript as it should be, and how many commands printed something else."""
    out, failures = [], 0
    for command, expected in steps(lines):
        actual, expected = run(command, folder, program), without_end(expected)
        if not matches(expected, actual):
            if not update:
                failures += 1
                print("\n".join(["$ " + command, "--- expected", *expected, "--- printed", *actual]))
            expected = updated(expected, actual)
        out += ["$ " + command, *expected, ""]
    return out[:-1], failures


def main():
    page = pathlib.Path(sys.argv[1]).resolve()
    program = pathlib.Path(sys.argv[2]).resolve()
    update = "--update" in sys.argv[3:]
    parts = re.split(r"(?<=```console\n)(.*?)(?=\n```)", page.read_text("utf-8"), flags=re.S)
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        os.symlink(page.parent.parent / "experiments", pathlib.Path(folder) / "experiments")
        for i in range(1, len(parts), 2):
            lines, failed = replay(parts[i].split("\n"), folder, program, update)
            parts[i], failures = "\n".join(lines), failures + failed
    if update:
        page.write_text("".join(parts), "utf-8")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
