"""How much sooner one way to share is where another ends, and for how many fewer bytes:

scripts/sooner.py SLOW=FAST ...

SLOW and FAST are runs' folders, or folders of one run per seed (`tessera sweep --seeds=`); then seeds are paired, and the last line
has mean and deviation. FAST is where SLOW ends at its first evaluation that is no worse; between two evaluations a line is drawn.
"""
import argparse
import json
import pathlib
import statistics

import pairs


def rows_of(folder):
    """(round, accuracy in %, MiB sent per node) of every evaluation, by seed's folder."""
    folder = pathlib.Path(folder)
    files = sorted(folder.glob("seed-*/metrics.jsonl")) or [folder / "metrics.jsonl"]
    rows = {}
    for file in files:
        lines = [json.loads(line) for line in file.read_text().splitlines()]
        if not lines:
            raise ValueError(f"{file} has no evaluation")
        try:
            rows[file.parent.name if file.parent != folder else "run"] = [
                (row["round"], 100 * row["accuracy"], row["bytes_sent_per_node"] / 2 ** 20) for row in lines]
        except KeyError as missing:
            raise ValueError(f"{file} has a row without {missing}") from missing
    return rows


def reached(rows, accuracy):
    """Round and MiB at which `accuracy` is reached, or those of the first row if it has that already; None where it never is."""
    before = None
    for row in rows:
        if row[1] >= accuracy:
            part = (accuracy - before[1]) / (row[1] - before[1]) if before else 1
            return tuple(b + part * (r - b) for b, r in zip((before or row)[::2], row[::2]))
        before = row
    return None


def compare(slow, fast):
    """Markdown lines for one pair."""
    slow_rows, fast_rows = rows_of(slow), rows_of(fast)
    factors = []
    seeds = sorted(slow_rows.keys() & fast_rows.keys())
    if not seeds:
        raise ValueError("the two have no seed in common")
    for seed in seeds:
        last, there = slow_rows[seed][-1], reached(fast_rows[seed], slow_rows[seed][-1][1])
        if there is None:
            yield f"| {slow} | {fast} | {seed} | {last[1]:.1f}% | {last[0]} | never | | |"
            continue
        if there[0] == 0:
            raise ValueError("fast is there before any round: leave out evaluate=start=yes")
        if there[1] == 0:
            raise ValueError(f"fast is there in round {there[0]:.0f} and has sent nothing: there are no bytes to compare")
        factors.append((last[0] / there[0], last[2] / there[1]))
        yield (f"| {slow} | {fast} | {seed} | {last[1]:.1f}% | {last[0]} | {there[0]:.0f} | {factors[-1][0]:.2f} "
               f"| {factors[-1][1]:.2f} |")
    if len(factors) > 1:
        rounds, sent = ([factor[i] for factor in factors] for i in (0, 1))
        which = f"{len(factors)} of {len(seeds)} seeds" if len(factors) < len(seeds) else f"{len(seeds)} seeds"
        yield (f"| {slow} | {fast} | {which} | | | | {statistics.mean(rounds):.2f} ± {statistics.stdev(rounds):.2f} "
               f"| {statistics.mean(sent):.2f} ± {statistics.stdev(sent):.2f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pairs", nargs="+", metavar="SLOW=FAST")
    print("| slow | fast | run | where slow ends | its rounds | fast's | sooner | fewer bytes |\n|---|---|---|---:|---:|---:|---:|---:|")
    for pair in parser.parse_args().pairs:
        try:
            slow, fast = pairs.split(pair, both=True)
            for line in compare(slow, fast):
                print(line)
        except (OSError, ValueError, KeyError) as error:
            parser.error(f"{pair}: {error}")


if __name__ == "__main__":
    main()
