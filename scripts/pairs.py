"""NAME=FOLDER, as scripts that draw and compare runs are told them."""
import pathlib


def split(pair, both=False):
    """The two sides. Folders of cells have a '=' in their names, too: the one that counts has a folder behind it, and with `both` before it."""
    for at in (i for i, letter in enumerate(pair) if letter == "="):
        left, right = pair[:at], pair[at + 1:]
        if pathlib.Path(right).is_dir() and (not both or pathlib.Path(left).is_dir()):
            return left, right
    wanted = "RUN=RUN, two folders that are there" if both else "NAME=RUN, the latter a folder that is there"
    raise ValueError(f"write {wanted}")
