"""Puts the live runs of scripts/netns.sh beside the simulated ones, as a table and a figure:

scripts/netns_table.py FOLDER [FIGURE.svg]
"""
import pathlib
import sys

import curves

RUNS = {
    "D-PSGD, measured": "dpsgd-live",
    "D-PSGD, simulated~": "dpsgd-sim",
    "DivShare, measured": "divshare-live",
    "DivShare, simulated~": "divshare-sim",
}


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


def main():
    folder = pathlib.Path(sys.argv[1])
    print_table({run: curves.rows(folder / run)[0] for run in RUNS.values()})
    if len(sys.argv) > 2:
        lines = {name: curves.points(folder / run, "seconds", "loss") for name, run in RUNS.items()}
        pathlib.Path(sys.argv[2]).write_text(curves.figure(lines, "seconds", "loss"))


main()
