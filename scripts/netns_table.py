"""Puts the live runs of scripts/netns.sh beside the simulated ones: scripts/netns_table.py FOLDER."""
import json
import pathlib
import sys


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


def error(live, simulated):
    return f"{100 * (simulated / live - 1):+.1f}%"


def main():
    folder = pathlib.Path(sys.argv[1])
    runs = {name: rows(folder / name)
            for name in ("dpsgd-live", "dpsgd-sim", "divshare-live", "divshare-sim")}
    print(f"{'what':<44}{'measured':>10}{'simulated':>11}{'error':>8}")

    def show(what, live, simulated, unit="s"):
        if live is None or simulated is None:
            print(f"{what:<44}{'-' if live is None else live:>10}"
                  f"{'-' if simulated is None else simulated:>11}")
            return
        print(f"{what:<44}{live:>8.2f} {unit}{simulated:>9.2f} {unit}{error(live, simulated):>8}")

    live, simulated = runs["dpsgd-live"], runs["dpsgd-sim"]
    count = len(live) - 1
    show(f"D-PSGD, a round (mean of {count})",
         (live[-1]["virtual_seconds"] - live[0]["virtual_seconds"]) / count,
         (simulated[-1]["virtual_seconds"] - simulated[0]["virtual_seconds"]) / count)
    target = simulated[-1]["loss"] * 1.1
    show(f"D-PSGD, until the loss is {target:.3f}", time_to(target, live), time_to(target, simulated))
    live, simulated = runs["divshare-live"], runs["divshare-sim"]
    show(f"DivShare, until the loss is {target:.3f}", time_to(target, live),
         time_to(target, simulated))
    show("DivShare, rounds of the slowest node by the end", live[-1]["round"],
         simulated[-1]["round"], " ")
    mib = 2.0 ** 20
    show("DivShare, sent per node", live[-1]["bytes_sent_per_node"] / mib,
         simulated[-1]["bytes_sent_per_node"] / mib, "M")


main()
