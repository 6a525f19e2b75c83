"""Draws where runs ended into an SVG file, accuracy over what a node had sent:

scripts/ends.py FIGURE.svg NAME=RUN ...

RUN is a run's folder, or one of several seeds. A small dot is a node, of all seeds; the bar goes from the worst to the best of them, the large
dot is their mean and the ring the accuracy of the mean of all models. A NAME may begin with '^' or '_' to stand above or below, and a '%' in it
becomes the run's bytes as a part of those of the run that sent most.
"""
import argparse
import json
import math
import pathlib

import pairs
from curves import COLOURS, escape, ticks

WIDTH, HEIGHT = 880, 460
LEFT, RIGHT, TOP, BOTTOM = 58, 60, 44, 46
ASIDE = 9  # How far to either side of its run a node's dot may stand.


def end(folder):
    """MiB, worst node, mean of the nodes, best node, merged, and every node; the mean over seeds, the nodes of all of them."""
    folder = pathlib.Path(folder)
    files = sorted(folder.glob("seed-*/summary.json")) or [folder / "summary.json"]
    seeds = [json.loads(file.read_text()) for file in files]

    def mean(key):
        return sum(seed[key] for seed in seeds) / len(seeds)

    nodes = [100 * node for seed in seeds for node in seed.get("node_accuracy", []) if node is not None]
    return (mean("bytes_sent_per_node") / 2 ** 20, 100 * min(seed["accuracy_min"] for seed in seeds), 100 * mean("accuracy"),
            100 * max(seed["accuracy_max"] for seed in seeds), 100 * mean("merged_accuracy"), nodes)


def figure(ends):
    """The SVG of pairs of a name and an end."""
    most = max(e[0] for _, e in ends)
    left, right = (math.log(value) for value in (min(e[0] for _, e in ends) / 1.5, most * 1.5))
    low, high = min(e[1] for _, e in ends) - 4, max(e[3] for _, e in ends) + 6

    def at_x(value):
        return LEFT + (WIDTH - LEFT - RIGHT) * (math.log(value) - left) / (right - left)

    def at_y(value):
        return TOP + (HEIGHT - TOP - BOTTOM) * (high - value) / (high - low)

    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
             'font-family="system-ui, sans-serif" font-size="13" fill="#333">',
             f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
             f'<g transform="translate({LEFT} 18)"><path d="M6 -9v14" stroke="#555" stroke-width="2"/><circle cx="10" cy="-5" r="1.6" fill="#555"/>'
             '<circle cx="3" cy="1" r="1.6" fill="#555"/><text x="18" y="4">every node, worst to best</text>'
             '<circle cx="200" r="5" cy="0" fill="#555"/><text x="210" y="4">mean of the nodes</text>'
             '<circle cx="356" r="5" cy="0" fill="white" stroke="#555" stroke-width="2"/><text x="366" y="4">the mean of all models</text></g>']
    for value in ticks(low, high):
        parts.append(f'<path d="M{LEFT} {at_y(value):.1f}H{WIDTH - RIGHT}" stroke="#e4e4e4"/>'
                     f'<text x="{LEFT - 8}" y="{at_y(value) + 4:.1f}" text-anchor="end">{value:g}</text>')
    for value in (m * 10 ** p for p in range(-2, 7) for m in (1, 2, 5)):
        if left <= math.log(value) <= right:
            parts.append(f'<path d="M{at_x(value):.1f} {HEIGHT - BOTTOM}v4" stroke="#999"/>'
                         f'<text x="{at_x(value):.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{value:g}</text>')
    for i, (name, (mib, worst, mean, best, merged, nodes)) in enumerate(ends):
        colour, x = COLOURS[i % len(COLOURS)], at_x(mib)
        place = at_y(worst) + 16 if name[0] == "_" else at_y(max(best, merged)) - 10
        label = escape(name.lstrip("^_").replace("%", f"{100 * mib / most:.1f}%"))
        # The golden ratio spreads neighbours, so that nodes of one accuracy stand side by side.
        dots = "".join(f'<circle cx="{x + ASIDE * (2 * (0.618034 * k % 1) - 1):.1f}" cy="{at_y(node):.1f}" r="1.6"/>'
                       for k, node in enumerate(nodes))
        parts.append(f'<path d="M{x:.1f} {at_y(worst):.1f}V{at_y(best):.1f}" stroke="{colour}" stroke-width="3" opacity="0.45"/>'
                     f'<g fill="{colour}" opacity="0.5">{dots}</g>'
                     f'<circle cx="{x:.1f}" cy="{at_y(merged):.1f}" r="5.5" fill="white" stroke="{colour}" stroke-width="2"/>'
                     f'<circle cx="{x:.1f}" cy="{at_y(mean):.1f}" r="5" fill="{colour}"/>'
                     f'<text x="{x:.1f}" y="{place:.1f}" text-anchor="middle" fill="{colour}">{label}</text>')
    middle = (TOP + HEIGHT - BOTTOM) / 2
    parts.append(f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 8}" text-anchor="middle">MiB sent per node</text>'
                 f'<text x="16" y="{middle}" transform="rotate(-90 16 {middle})" text-anchor="middle">accuracy, %</text></svg>')
    return "\n".join(parts) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("figure")
    parser.add_argument("runs", nargs="+", metavar="NAME=RUN")
    asked = parser.parse_args()
    ends = []
    for run in asked.runs:
        try:
            name, folder = pairs.split(run)
            ends.append((name, end(folder)))
        except (OSError, ValueError) as error:
            parser.error(f"{run}: {error}")
        except KeyError as error:
            parser.error(f"{run}: its summary has no {error}")
    pathlib.Path(asked.figure).write_text(figure(ends))


if __name__ == "__main__":
    main()
