"""Points in the unit cube: one coordinate for each varied name, by the kind of design.

Each kind computes any range of its points alone: `points(i0, i1)` has shape (names, i1 − i0). A point depends
only on its number, the seed and the names, not on the requested range.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from hashlib import blake2b

import numpy as np

from armillary.untyped import DataTable, Given

# Random numbers that are computed from their position: any range of a sequence alone, on any machine.
#
# A sequence belongs to a seed and a name, so that a quantity keeps its values if other quantities change.

_WORDS = 4  # of 64 bits, from each step of Philox's counter
# Rounds of a permutation: with 12, positions, pairs and triples in 100,000 permutations of length 4 to 32
# looked random.
_ROUNDS = 12


def uniform(seed: int, name: str, i0: int, i1: int) -> np.ndarray:
    """Return numbers i0 … i1 − 1 of a sequence of uniform numbers, all above 0 and below 1.

    They come from the counter-based generator Philox 4x64 of Salmon et al. (2011), which is advanced to i0.
    """
    generator = _generator(seed, name)
    generator.advance(i0 // _WORDS)
    words = generator.random_raw(i1 - i0 + i0 % _WORDS)[i0 % _WORDS :]
    return ((words >> np.uint64(12)) + 0.5) * 2.0**-52


def permute_range(seed: int, name: str, size: int, i0: int, i1: int) -> np.ndarray:
    """Return elements i0 … i1 − 1 of a permutation of range(size), without the other elements.

    The permutation is a bijection of the numbers with as many bits as `size` needs: rounds of an addition, a
    multiplication by an odd number and x ^= x >> half the bits, all of which are invertible. Numbers outside
    the range are mapped again until they are inside (cycle walking). A million numbers take about 20 ms.
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


Points = Callable[[int, int], np.ndarray]


class Random:
    """Independent points."""

    def __init__(self, names: tuple[str, ...], seed: int) -> None:
        self.names, self.seed = names, seed

    def __call__(self, i0: int, i1: int) -> np.ndarray:
        return np.array([uniform(self.seed, name, i0, i1) for name in self.names])


class LatinHypercube:
    """Points such that each of `runs` equal slices of each coordinate contains exactly one.

        uᵢ = (π(i) + rᵢ) / runs

    with a permutation π for each name, also computed by position.  Source: McKay, Beckman, Conover (1979).
    """

    def __init__(self, names: tuple[str, ...], runs: int, seed: int) -> None:
        self.names, self.runs, self.seed = names, runs, seed

    def __call__(self, i0: int, i1: int) -> np.ndarray:
        return np.array([self._coordinate(name, i0, i1) for name in self.names])

    def _coordinate(self, name: str, i0: int, i1: int) -> np.ndarray:
        slices = permute_range(self.seed, f"slices of {name}", self.runs, i0, i1)
        u = (slices + uniform(self.seed, name, i0, i1)) / self.runs
        found: np.ndarray = np.minimum(u, 1 - 2.0**-53)  # rounding may have given 1
        return found


class Sobol:
    """Points of SciPy's Sobol' sequence, scrambled by the seed."""

    def __init__(self, dimensions: int, seed: int) -> None:
        self.dimensions, self.seed = dimensions, seed
        self._start()

    def _start(self) -> None:
        self._engine: Given = None
        self._lock = threading.Lock()

    def __call__(self, i0: int, i1: int) -> np.ndarray:
        # One engine serves consecutive blocks; a block that begins before its position restarts it. Skipping
        # a million points of 20 coordinates takes 12 ms.
        with self._lock:
            if self._engine is None:
                from scipy.stats import qmc

                generator = np.random.default_rng(self.seed)
                self._engine = qmc.Sobol(self.dimensions, scramble=True, seed=generator)
            if self._engine.num_generated > i0:
                self._engine.reset()
            if self._engine.num_generated < i0:
                self._engine.fast_forward(i0 - self._engine.num_generated)
            parts = []
            if i0 == 0 and i1 > 1:  # SciPy warns if the first draw is no power of two; blocks need not be
                parts.append(self._engine.random(1))
            parts.append(self._engine.random(i1 - i0 - len(parts)))
        found: np.ndarray = np.clip(
            np.concatenate(parts).T, 2.0**-53, 1 - 2.0**-53
        )  # 0 may occur, where Φ⁻¹ is infinite
        return found

    def __getstate__(self) -> DataTable:
        return {"dimensions": self.dimensions, "seed": self.seed}

    def __setstate__(self, state: DataTable) -> None:
        self.__dict__.update(state)
        self._start()


class Saltelli:
    """Groups of points from which Sobol' indices are estimated. In each group two points A and B are
    independent, and the others are mixtures of these:

        A,  A with the first coordinate of B,  A with the second, …,  (B with the first of A, …,)  B

    The part in brackets is for second-order indices only. The order is the one that SALib reads; its own
    sampler is slow and makes all points at once.  Source: Saltelli (2002), Saltelli et al. (2010).
    """

    def __init__(self, names: tuple[str, ...], seed: int, second_order: bool) -> None:
        self.count, self.second_order = len(names), second_order
        self.group = group_size("saltelli", len(names), second_order)
        self.base = Sobol(2 * len(names), seed)

    def __call__(self, i0: int, i1: int) -> np.ndarray:
        g0, g1 = i0 // self.group, -(-i1 // self.group)
        base = self.base(g0, g1)
        points = np.empty((self.count, g1 - g0, self.group))
        for j in range(self.count):
            a, b = base[j], base[self.count + j]
            points[j] = a[:, None]
            if self.second_order:
                points[j, :, self.count + 1 :] = b[:, None]
                points[j, :, self.count + 1 + j] = a
            points[j, :, 1 + j] = b
            points[j, :, -1] = b
        return points.reshape(self.count, -1)[:, i0 - g0 * self.group : i1 - g0 * self.group]


class Morris:
    """Trajectories on a grid of levels: from a random point each coordinate steps once, in random order, up
    or down by half the levels.

        Δ = p / (2 (p − 1)),   p levels 0, 1/(p − 1), …, 1

    Source: Morris (1991).
    """

    def __init__(self, names: tuple[str, ...], seed: int, levels: int) -> None:
        self.names, self.seed, self.levels = names, seed, levels
        self.group = group_size("morris", len(names))

    def __call__(self, i0: int, i1: int) -> np.ndarray:
        g0, g1 = i0 // self.group, -(-i1 // self.group)

        def draw_uniform(what: str) -> np.ndarray:
            return np.array([uniform(self.seed, f"{what} of {name}", g0, g1) for name in self.names])

        half = self.levels // 2
        lower = np.floor(draw_uniform("level") * half)[..., None]
        upwards = (draw_uniform("direction") < 0.5)[..., None]
        turn = np.argsort(np.argsort(draw_uniform("turn"), axis=0), axis=0)[..., None]
        stepped = turn < np.arange(self.group)  # names, trajectories, points of a trajectory
        points = (lower + half * (stepped == upwards)) / (self.levels - 1)
        found: np.ndarray = points.reshape(len(self.names), -1)[
            :, i0 - g0 * self.group : i1 - g0 * self.group
        ]
        return found


def group_size(kind: str, count: int, second_order: bool = False) -> int:
    """Return the number of runs that are evaluated together: 1 except for "saltelli" and "morris"."""
    return {"saltelli": 2 * count + 2 if second_order else count + 2, "morris": count + 1}.get(kind, 1)
