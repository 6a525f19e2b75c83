"""The command `tessera` of an installed wheel: the program that came with it."""

import os
import sys


def main():
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "tessera-program")
    os.execv(program, ["tessera", *sys.argv[1:]])
