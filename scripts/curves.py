"""Draws runs as curves into an SVG file, a line each, with its name at its end:

scripts/curves.py FIGURE.svg --x=seconds|rounds|bytes --y=accuracy|loss NAME=RUN ...

RUN is a run's folder, or one of several seeds, whose mean is drawn with a band from the least to the most. A NAME that
ends in '~' is drawn dashed, in the colour of the one before it. `tessera report` draws more, for the screen; this is for pages.
"""
import argparse
import json
import math
import pathlib

import pairs

COLOURS = ["#2f6db4", "#d1721b", "#2e8b57", "#b4432f", "#7b57a8", "#6b6b6b", "#b58900"]
WIDTH, HEIGHT = 760, 380
LEFT, RIGHT, TOP, BOTTOM = 58, 212, 14, 46
AXES = {
    "seconds": ("virtual_seconds", 1, "seconds of virtual time"),
    "rounds": ("round", 1, "rounds"),
    "bytes": ("bytes_sent_per_node", 2.0 ** -20, "MiB sent per node"),
    "accuracy": ("accuracy", 100, "accuracy, %"),
    "loss": ("loss", 1, "loss"),
}


def rows(folder):
    """A run's rows, in a list per seed."""
    folder = pathlib.Path(folder)
    files = sorted(folder.glob("seed-*/metrics.jsonl")) or [folder / "metrics.jsonl"]
    return [[json.loads(line) for line in file.read_text().splitlines()] for file in files]


def points(folder, x, y):
    """(x, mean, least, most) per row; runs of one experiment have their rows at the same places."""
    result = []
    for row in zip(*rows(folder)):
        values = [AXES[y][1] * seed[AXES[y][0]] for seed in row]
        at = [AXES[x][1] * seed[AXES[x][0]] for seed in row]
        result.append((sum(at) / len(at), sum(values) / len(values), min(values), max(values)))
    return result


def ticks(least, most, wanted=6):
    """Round numbers between the two."""
    step = 10 ** math.floor(math.log10((most - least) / wanted))
    step *= next(m for m in (1, 2, 5, 10) if (most - least) / (step * m) <= wanted)
    first = math.ceil(least / step - 1e-9)
    return [round(i * step, 10) for i in range(first, math.floor(most / step + 1e-9) + 1)]


def apart(places, gap=15):
    """The same places, moved as little as makes neighbours keep their distance."""
    order = sorted(range(len(places)), key=lambda i: places[i])
    result = list(places)
    for before, after in zip(order, order[1:]):
        result[after] = max(result[after], result[before] + gap)
    over = max(0, result[order[-1]] - (HEIGHT - BOTTOM)) if order else 0
    return [place - over for place in result]


def escape(text):
    return text.replace("&", "&amp;").replace("<", "&lt;")


def figure(curves, x, y):
    """The SVG of {name: points}."""
    right = max(p[0] for curve in curves.values() for p in curve)
    left = 0 if x != "rounds" else min(p[0] for curve in curves.values() for p in curve)
    low = min(p[2] for curve in curves.values() for p in curve)
    high = max(p[3] for curve in curves.values() for p in curve)
    low, high = low - 0.03 * (high - low), high + 0.03 * (high - low)

    def at_x(value):
        return LEFT + (WIDTH - LEFT - RIGHT) * (value - left) / (right - left)

    def at_y(value):
        return TOP + (HEIGHT - TOP - BOTTOM) * (high - value) / (high - low)

    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
             'font-family="system-ui, sans-serif" font-size="13" fill="#333">',
             f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>']
    for value in ticks(low, high):
        parts.append(f'<path d="M{LEFT} {at_y(value):.1f}H{WIDTH - RIGHT}" stroke="#e4e4e4"/>'
                     f'<text x="{LEFT - 8}" y="{at_y(value) + 4:.1f}" text-anchor="end">{value:g}</text>')
    for value in ticks(left, right):
        parts.append(f'<path d="M{at_x(value):.1f} {HEIGHT - BOTTOM}v4" stroke="#999"/>'
                     f'<text x="{at_x(value):.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{value:g}</text>')
    names = apart([at_y(curve[-1][1]) for curve in curves.values()])
    colours = 0
    for i, (name, curve) in enumerate(curves.items()):
        colours += not name.endswith("~")
        colour = COLOURS[(colours - 1) % len(COLOURS)]
        dashes = ' stroke-dasharray="7 4"' if name.endswith("~") else ""
        if any(most > least for _, _, least, most in curve):
            edge = [f"{at_x(p[0]):.1f},{at_y(p[3]):.1f}" for p in curve]
            edge += [f"{at_x(p[0]):.1f},{at_y(p[2]):.1f}" for p in reversed(curve)]
            parts.append(f'<polygon points="{" ".join(edge)}" fill="{colour}" opacity="0.18"/>')
        line = " ".join(f"{at_x(p[0]):.1f},{at_y(p[1]):.1f}" for p in curve)
        parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"{dashes}/>')
        end = curve[-1]
        parts.append(f'<path d="M{at_x(end[0]) + 3:.1f} {at_y(end[1]):.1f}L{WIDTH - RIGHT + 12} {names[i]:.1f}" '
                     f'stroke="{colour}" opacity="0.4" fill="none"/>'
                     f'<text x="{WIDTH - RIGHT + 16}" y="{names[i] + 4:.1f}" fill="{colour}">'
                     f'{escape(name.rstrip("~"))}</text>')
    parts.append(f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 8}" text-anchor="middle">{AXES[x][2]}</text>')
    middle = (TOP + HEIGHT - BOTTOM) / 2
    parts.append(f'<text x="16" y="{middle}" transform="rotate(-90 16 {middle})" text-anchor="middle">'
                 f'{AXES[y][2]}</text></svg>')
    return "\n".join(parts) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("figure")
    parser.add_argument("runs", nargs="+", metavar="NAME=RUN")
    parser.add_argument("--x", choices=["seconds", "rounds", "bytes"], default="seconds")
    parser.add_argument("--y", choices=["accuracy", "loss"], default="accuracy")
    asked = parser.parse_args()
    curves = {}
    for run in asked.runs:
        try:
            name, folder = pairs.split(run)
            curves[name] = points(folder, asked.x, asked.y)
        except (OSError, ValueError) as error:
            parser.error(f"{run}: {error}")
        except KeyError as error:
            parser.error(f"{run}: its metrics.jsonl has no {error}")
    pathlib.Path(asked.figure).write_text(figure(curves, asked.x, asked.y))


if __name__ == "__main__":
    main()
