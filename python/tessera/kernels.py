"""The functions on arrays that a round is made of. Arrays are one-dimensional and contiguous, float32 or, for indices,
uint32, and are not copied; a torch tensor on the CPU goes in as `tensor.numpy()`.

    coefficients = wavelet_forward(model)                     # JWINS: sym2, four levels
    indices = select_largest(coefficients, len(model) // 10)
    payload = encode_indices(indices, len(coefficients))      # Elias gamma

`digest(models)` is the number that Simulation.digest is of such models.
"""

from tessera._tessera import (
    Sharing,
    average,
    decode_indices,
    decode_values,
    digest,
    encode_indices,
    encode_values,
    seen_at,
    select_largest,
    wavelet_forward,
    wavelet_inverse,
)

__all__ = [
    "Sharing",
    "average",
    "decode_indices",
    "decode_values",
    "digest",
    "encode_indices",
    "encode_values",
    "seen_at",
    "select_largest",
    "wavelet_forward",
    "wavelet_inverse",
]
