# What PyWavelets makes of the vectors of wavelet_test.cc: for each line "filter levels length" on standard input,
# the float32 coefficients and then the float32 reconstruction, raw, to the file named on the command line.
import sys
import warnings

import numpy
import pywt

warnings.simplefilter("ignore")  # More levels than the length makes sense for are asked for on purpose.


def vector(length):
    # The same hash as in the test: exact in float32 on both sides.
    i = numpy.arange(length, dtype=numpy.uint64)
    mixed = ((i + 1) * 2654435761 + length * 40503) & 0xFFFFFFFF
    return ((mixed >> 8).astype(numpy.float64) / 8388608.0 - 1.0).astype(numpy.float32)


with open(sys.argv[1], "wb") as out:
    for line in sys.stdin:
        name, levels, length = line.split()
        pieces = pywt.wavedec(vector(int(length)), name, level=int(levels))
        flat, slices = pywt.coeffs_to_array(pieces)
        back = pywt.waverec(pywt.array_to_coeffs(flat, slices, output_format="wavedec"), name)
        out.write(numpy.uint32(flat.size).tobytes())
        out.write(flat.astype(numpy.float32).tobytes())
        out.write(back.astype(numpy.float32)[: int(length)].tobytes())
