"""Random numbers that are found by their number: any stretch of a sequence alone, on any machine.

A sequence belongs to a seed and a name, so that a quantity keeps its values whatever else varies.
"""

from __future__ import annotations

from hashlib import blake2b

import numpy as np

_WORDS = 4  # of 64 bits that each step of Philox's counter gives
_ROUNDS = 12  # of a permutation; 100,000 of length 4 to 32 then had places, pairs and triples as random ones


def uniform(seed: int, name: str, i0: int, i1: int) -> np.ndarray:
    """Numbers i0 to i1 of a sequence of uniform ones, all above 0 and below 1.

    From the counter-based generator Philox 4x64 of Salmon et al. (2011), which is advanced to the place.
    """
    generator = _generator(seed, name)
    generator.advance(i0 // _WORDS)
    words = generator.random_raw(i1 - i0 + i0 % _WORDS)[i0 % _WORDS :]
    return ((words >> np.uint64(12)) + 0.5) * 2.0**-52


def permuted(seed: int, name: str, size: int, i0: int, i1: int) -> np.ndarray:
    """Places i0 to i1 of a permutation of range(size), without the rest of it.

    A bijection of numbers of so many bits as size needs, by rounds of an addition, a multiplication by an odd
    number and x ^= x >> half the bits, each of which can be undone. What leaves the range goes through once
    more (cycle walking) until it is back. A million take about 20 ms.
    """
    keys = _generator(seed, name).random_raw(2 * _ROUNDS).astype(np.uint32).reshape(_ROUNDS, 2)
    bits = max((size - 1).bit_length(), 2)
    mask, half = np.uint32(2**bits - 1), np.uint32((bits + 1) // 2)

    def once(x: np.ndarray) -> np.ndarray:
        for summand, multiplier in keys:
            x += summand
            x *= multiplier | np.uint32(1)
            x &= mask
            x ^= x >> half
        return x

    places = once(np.arange(i0, i1, dtype=np.uint32))
    outside = np.flatnonzero(places >= size)
    while outside.size:
        places[outside] = once(places[outside])
        outside = outside[places[outside] >= size]
    return places


def _generator(seed: int, name: str) -> np.random.Philox:
    digest = blake2b(f"{seed} {name}".encode(), digest_size=16).digest()
    return np.random.Philox(key=int.from_bytes(digest, "little"))
