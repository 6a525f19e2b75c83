"""Puts the live runs of scripts/netns.sh beside the simulated ones, as a table and a figure:

scripts/netns_table.py FOLDER [FIGURE.svg]
"""
import json
import math
import pathlib
import sys

RUNS = {
    "dpsgd-live": ("D-PSGD, measured", "#b4432f", ""),
    "dpsgd-sim": ("D-PSGD, simulated", "#b4432f", "6 4"),
    "divshare-live": ("DivShare, measured", "#2f6db4", ""),
    "divshare-sim": ("DivShare, simulated", "#2f6db4", "6 4"),
}


def rows(folder):
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


def time_to(loss, table):
    """When the mean loss first was that low; between two rows along the straight line."""
    for before, after in zip(table, table[1:]):
        if after["loss"] <= loss < before["loss"]:
            part = (before["loss"] - loss) / (before["loss"] - after["loss"])
            return before["virtual_seconds"] + part * (
                after["virtual_seconds"] - before["virtual_seconds"])
    return None


def show(what, live, simulated, unit):
    numbers = [f"{'never':>12}" if x is None else f"{x:>8.2f} {unit:<3}" for x in (live, simulated)]
    error = "" if None in (live, simulated) else f"{100 * (simulated / live - 1):+.1f}%"
    print(f"{what:<48}{numbers[0]}{numbers[1]}{error:>8}")


def print_table(runs):
    print(f"{'':<48}{'measured':>12}{'simulated':>12}{'error':>8}")
    live, simulated = runs["dpsgd-live"], runs["dpsgd-sim"]
    count = len(live) - 1
    span = [(table[-1]["virtual_seconds"] - table[0]["virtual_seconds"]) / count
            for table in (live, simulated)]
    show(f"D-PSGD, a round (mean of {count})", *span, "s")
    target = simulated[-1]["loss"] * 1.1
    show(f"D-PSGD, until the loss is {target:.3f}", time_to(target, live), time_to(target, simulated), "s")
    live, simulated = runs["divshare-live"], runs["divshare-sim"]
    show(f"DivShare, until the loss is {target:.3f}", time_to(target, live), time_to(target, simulated), "s")
    show("DivShare, rounds of the slowest node", live[-1]["round"], simulated[-1]["round"], "")
    mib = 2.0 ** 20
    show("DivShare, sent per node", live[-1]["bytes_sent_per_node"] / mib,
         simulated[-1]["bytes_sent_per_node"] / mib, "MiB")


def figure(runs):
    """Loss over time, the loss on a logarithmic scale."""
    width, height, left, bottom = 640, 360, 60, 40
    seconds = max(row["virtual_seconds"] for table in runs.values() for row in table)
    losses = [row["loss"] for table in runs.values() for row in table]
    low, high = math.log10(min(losses)), math.log10(max(losses))

    def x(row):
        return left + (width - left - 10) * row["virtual_seconds"] / seconds

    def y(loss):
        return 10 + (height - bottom - 10) * (high - math.log10(loss)) / (high - low)

    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
             'font-family="sans-serif" font-size="12">',
             f'<rect width="{width}" height="{height}" fill="white"/>']
    for loss in (0.1, 0.2, 0.5, 1.0):
        if low <= math.log10(loss) <= high:
            parts.append(f'<path d="M{left} {y(loss):.1f}H{width - 10}" stroke="#ddd"/>'
                         f'<text x="{left - 6}" y="{y(loss) + 4:.1f}" text-anchor="end">{loss}</text>')
    for tick in range(0, int(seconds) + 1, 10):
        at = left + (width - left - 10) * tick / seconds
        parts.append(f'<text x="{at:.1f}" y="{height - bottom + 18}" text-anchor="middle">{tick} s</text>')
    for i, (name, (label, colour, dashes)) in enumerate(RUNS.items()):
        line = " ".join(f"{x(row):.1f},{y(row['loss']):.1f}" for row in runs[name])
        style = f'stroke="{colour}" stroke-width="2" stroke-dasharray="{dashes}"'
        parts.append(f'<polyline points="{line}" fill="none" {style}/>')
        parts.append(f'<path d="M{width - 190} {24 + 18 * i}h30" {style}/>'
                     f'<text x="{width - 152}" y="{28 + 18 * i}">{label}</text>')
    parts.append(f'<text x="14" y="{height / 2}" transform="rotate(-90 14 {height / 2})" '
                 'text-anchor="middle">loss</text></svg>')
    return "\n".join(parts) + "\n"


def main():
    folder = pathlib.Path(sys.argv[1])
    runs = {name: rows(folder / name) for name in RUNS}
    print_table(runs)
    if len(sys.argv) > 2:
        pathlib.Path(sys.argv[2]).write_text(figure(runs))


main()
