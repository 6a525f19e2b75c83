#!/usr/bin/env python3
"""Adds the ends of runs to docs/runs.csv, a line per set, cell and seed, and prints mean and deviation of what seeds are there:

    scripts/runs_csv.py RESULTS/SET...     # as scripts/results.sh left them

Lines of the same set, cell, seed and device are replaced, so that seeds can be added later. Bytes are those sent per node.
"""
import csv
import json
import pathlib
import statistics
import sys

FILE = pathlib.Path(__file__).parent.parent / "docs/runs.csv"
KEY = ["set", "cell", "seed", "device"]
FIGURES = ["accuracy", "accuracy_min", "accuracy_max", "loss", "merged_accuracy", "merged_loss", "bytes_sent_per_node",
           "metadata_bytes_per_node", "rounds", "virtual_seconds"]


def line_of(folder, name, summary):
    """One finished run."""
    device = next((line.split('"')[1] for line in (folder / "config.toml").read_text().splitlines() if line.startswith("device")), "")
    cell = folder.parent if folder.name.startswith("seed-") else folder
    line = {"set": name, "cell": cell.name, "seed": str(summary["seed"]), "device": device}
    line |= {figure: f"{summary[figure]:.10g}" if figure in summary else "" for figure in FIGURES}
    return line | {"commit": summary.get("made", {}).get("commit", ""), "digest": summary["model_digest"]}


def lines_in(place):
    """The finished runs of a set."""
    found = sorted(place.rglob("summary.json"))
    if not found:
        sys.exit(f"runs_csv: there is no finished run in {place}")
    for file in found:
        try:
            summary = json.loads(file.read_text())
            if "runs" not in summary:  # That of several seeds is no run.
                yield line_of(file.parent, place.name, summary)
        except OSError as error:
            sys.exit(f"runs_csv: {error.filename}: {error.strerror}; copy the run's whole folder, or leave the run out")
        except KeyError as missing:
            sys.exit(f"runs_csv: {file} has no {missing}; run it again with this version, or leave the run out")
        except ValueError as error:
            sys.exit(f"runs_csv: {file}: {error}; run it again, or leave the run out")


def spread(lines, figure, factor=1, digits=3):
    values = [factor * float(line[figure]) for line in lines if line[figure]]
    if not values:
        return "-"
    deviation = f" ± {statistics.stdev(values):.{digits}f}" if len(values) > 1 else ""
    return f"{statistics.mean(values):.{digits}f}{deviation}"


def show(lines, sets):
    """A Markdown row for every cell of these sets."""
    print("| set | cell | device | seeds | accuracy, % | merged | loss | merged | MiB per node |\n|---|---|---|---:|---:|---:|---:|---:|---:|")
    cells = {}
    for line in lines:
        if line["set"] in sets:
            cells.setdefault((line["set"], line["cell"], line["device"]), []).append(line)
    for (name, cell, device), seeds in cells.items():
        shown = [spread(seeds, "accuracy", 100, 1), spread(seeds, "merged_accuracy", 100, 1), spread(seeds, "loss"),
                 spread(seeds, "merged_loss"), f"{statistics.mean(float(s['bytes_sent_per_node']) for s in seeds) / 2 ** 20:.1f}"]
        print(f"| {name} | {cell} | {device} | {len(seeds)} | {' | '.join(shown)} |")


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    lines = []
    if FILE.exists():
        with FILE.open(newline="") as file:
            lines = list(csv.DictReader(file))
    known = {tuple(line[key] for key in KEY): line for line in lines}
    for place in map(pathlib.Path, sys.argv[1:]):
        for line in lines_in(place):
            known[tuple(line[key] for key in KEY)] = line
    with FILE.open("w", newline="") as file:
        out = csv.DictWriter(file, KEY + FIGURES + ["commit", "digest"], lineterminator="\n")
        out.writeheader()
        out.writerows(known[key] for key in sorted(known))
    show([known[key] for key in sorted(known)], {pathlib.Path(place).name for place in sys.argv[1:]})


if __name__ == "__main__":
    main()
