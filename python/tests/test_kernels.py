"""tessera.kernels against numpy and PyWavelets."""

import unittest

import numpy

from tessera import kernels


def values(count, seed=1):
    return numpy.random.default_rng(seed).standard_normal(count).astype("float32")


class Wavelet(unittest.TestCase):
    def test_equals_pywavelets(self):
        pywt = __import__("pywt")
        for wavelet in ("haar", "db2", "db3", "db4", "sym2", "sym3", "sym4"):
            for count in (17, 64, 1001):
                x = values(count)
                levels = min(3, pywt.dwt_max_level(count, wavelet) or 1)
                ours = kernels.wavelet_forward(x, wavelet, levels)
                theirs, _ = pywt.coeffs_to_array(pywt.wavedec(x, wavelet, level=levels))
                numpy.testing.assert_allclose(ours, theirs, atol=2e-5)

    def test_inverse_gives_back(self):
        x = values(1000)
        numpy.testing.assert_allclose(kernels.wavelet_inverse(kernels.wavelet_forward(x), 1000), x, atol=1e-5)

    def test_results_go_where_they_are_asked_for(self):
        x, back = values(1000), numpy.empty(1000, "float32")
        coefficients = kernels.wavelet_forward(x)
        target = numpy.empty_like(coefficients)
        self.assertIs(kernels.wavelet_forward(x, out=target), target)
        numpy.testing.assert_array_equal(target, coefficients)
        self.assertIs(kernels.wavelet_inverse(coefficients, 1000, out=back), back)
        numpy.testing.assert_allclose(back, x, atol=1e-5)
        for wrong, words in ((values(5), "out: 5 values"), (coefficients[:1000], "shares memory")):
            with self.assertRaisesRegex(ValueError, words):
                kernels.wavelet_inverse(coefficients, 1000, out=wrong)

    def test_wrong_words_raise(self):
        with self.assertRaisesRegex(ValueError, "sym2"):
            kernels.wavelet_forward(values(8), "sym22")
        with self.assertRaisesRegex(ValueError, "coefficients: 5 of them"):
            kernels.wavelet_inverse(values(5), 100)
        for wrong in (values(8).astype("float64"), values(8).reshape(2, 4), values(16)[::2], [1.0, 2.0]):
            with self.assertRaisesRegex(ValueError, "one-dimensional, contiguous numpy array of float32"):
                kernels.wavelet_forward(wrong)


class Codecs(unittest.TestCase):
    def test_largest_are_numpys(self):
        x = values(5000)
        chosen = kernels.select_largest(x, 500)
        self.assertEqual(set(chosen), set(numpy.argsort(-abs(x), kind="stable")[:500]))
        self.assertTrue((numpy.diff(chosen.astype(int)) > 0).all())

    def test_round_trips(self):
        x = values(5000)
        chosen = kernels.select_largest(x, 500)
        for codec in ("gamma", "bitmap", "raw32"):
            payload = kernels.encode_indices(chosen, len(x), codec)
            numpy.testing.assert_array_equal(kernels.decode_indices(payload, len(x), 500, codec), chosen)
        for codec in ("f32", "planes", "fpzip", "grid"):
            payload = kernels.encode_values(x, codec)
            numpy.testing.assert_array_equal(kernels.decode_values(payload, len(x), codec), x)

    def test_damaged_bytes_raise(self):
        payload = kernels.encode_values(values(100), "planes")
        for wrong in (b"", payload[:-1], payload + b"x"):
            with self.assertRaisesRegex(ValueError, "payload"):
                kernels.decode_values(wrong, 100, "planes")
        with self.assertRaisesRegex(ValueError, "cannot hold"):
            kernels.decode_indices(b"x", 2**31, 2**30, "gamma")
        with self.assertRaisesRegex(ValueError, "increase strictly"):
            kernels.encode_indices(numpy.array([3, 3], "uint32"), 10)

    def test_nothing_is_copied(self):
        x = values(1000)
        self.assertEqual(kernels.seen_at(x), x.ctypes.data)
        part = x[100:200]
        self.assertEqual(kernels.seen_at(part), x.ctypes.data + 400)

    def test_average_is_in_place(self):
        x, y = values(100, 1), values(100, 2)
        expected = x + 0.25 * (y - x)
        kernels.average(x, [y], [0.25])
        numpy.testing.assert_allclose(x, expected, atol=1e-6)


class Sharing(unittest.TestCase):
    def test_two_nodes_come_together(self):
        start = numpy.zeros(1000, "float32")
        models = [start + values(1000, seed) for seed in (1, 2)]
        sharings = [kernels.Sharing("jwins:budget=0.3", start) for _ in models]
        before = numpy.linalg.norm(models[0] - models[1])
        for step in range(30):
            told = [sharing.pack(model, 100 * step + i) for i, (sharing, model) in enumerate(zip(sharings, models))]
            for i in (0, 1):
                sharings[i].merge(models[i], [(0.5, message) for message in told[1 - i]])
        self.assertLess(numpy.linalg.norm(models[0] - models[1]), 0.1 * before)
        self.assertLess(sum(map(len, told[0])), 4000 * 0.6)

    def test_a_message_is_not_believed(self):
        start = numpy.zeros(100, "float32")
        sharing = kernels.Sharing("full", start)
        message = sharing.pack(start, 1)[0]
        for wrong in (b"", message[:-1], message[:40] + b"\xff" + message[41:]):
            with self.assertRaisesRegex(ValueError, "message"):
                sharing.merge(start, [(0.5, wrong)])

    def test_memory_is_saved(self):
        start = numpy.zeros(100, "float32")
        first, second = (kernels.Sharing("jwins", start) for _ in range(2))
        model = values(100)
        first.pack(model, 1)
        first.merge(model, [])
        second.set_state(first.state())
        self.assertEqual(first.pack(model, 2), second.pack(model, 2))
        with self.assertRaisesRegex(ValueError, "state"):
            second.set_state(b"nothing")


if __name__ == "__main__":
    unittest.main()
