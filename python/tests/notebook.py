"""Runs a notebook's code cells, without Jupyter: python3 notebook.py FILE writes their output into it.

Cells print what they have to show; the value of a last expression is not looked at.
"""

import contextlib
import io
import json
import sys


def read(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def code_cells(notebook):
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def printed(cell, names):
    """What a cell prints when it is run among these names."""
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(compile("".join(cell["source"]), "cell", "exec"), names)
    return out.getvalue()


def recorded(cell):
    return "".join(line for output in cell["outputs"] for line in output["text"])


def record(path):
    notebook, names = read(path), {"__name__": "__main__"}
    for count, cell in enumerate(code_cells(notebook), start=1):
        text = printed(cell, names)
        cell["execution_count"] = count
        cell["outputs"] = [{"name": "stdout", "output_type": "stream", "text": text.splitlines(True)}] if text else []
    with open(path, "w", encoding="utf-8") as file:
        json.dump(notebook, file, indent=1, ensure_ascii=False)
        file.write("\n")


if __name__ == "__main__":
    record(sys.argv[1])
