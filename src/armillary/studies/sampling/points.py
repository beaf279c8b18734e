"""Points in the unit cube: one coordinate for each varied name, by the kind of design.

Each kind gives any stretch of its points alone: `points(i0, i1)` has shape (names, i1 − i0), and a point
depends on its number, the seed and the names, never on the stretch it is asked in.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from hashlib import blake2b

import numpy as np

from armillary.untyped import DataTable, Given

# Random numbers that are found by their number: any stretch of a sequence alone, on any machine.
#
# A sequence belongs to a seed and a name, so that a quantity keeps its values whatever else varies.

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


def permute_range(seed: int, name: str, size: int, i0: int, i1: int) -> np.ndarray:
    """Places i0 to i1 of a permutation of range(size), without the rest of it.

    A bijection of the numbers with as many bits as `size` needs, by rounds of an addition, a multiplication
    by an odd number and x ^= x >> half the bits, each of which can be undone. A number outside the range goes
    through once more (cycle walking) until it is back. A million take about 20 ms.
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
    """Points of which each of `runs` equal slices of each coordinate holds exactly one.

        uᵢ = (π(i) + rᵢ) / runs

    with a permutation π for each name, itself found by number.  Source: McKay, Beckman, Conover (1979).
    """

    def __init__(self, names: tuple[str, ...], runs: int, seed: int) -> None:
        self.names, self.runs, self.seed = names, runs, seed

    def __call__(self, i0: int, i1: int) -> np.ndarray:
        return np.array([self._coordinate(name, i0, i1) for name in self.names])

    def _coordinate(self, name: str, i0: int, i1: int) -> np.ndarray:
        slices = permute_range(self.seed, f"slices of {name}", self.runs, i0, i1)
        u = (slices + uniform(self.seed, name, i0, i1)) / self.runs
        found: np.ndarray = np.minimum(u, 1 - 2.0**-53)  # the sum may have been rounded up to runs
        return found


class Sobol:
    """Points of the Sobol' sequence as SciPy has it, scrambled by the seed."""

    def __init__(self, dimensions: int, seed: int) -> None:
        self.dimensions, self.seed = dimensions, seed
        self._start()

    def _start(self) -> None:
        self._engine: Given = None
        self._lock = threading.Lock()

    def __call__(self, i0: int, i1: int) -> np.ndarray:
        # One engine goes on through blocks in turn; going back starts it again. Skipping a million points of
        # 20 coordinates takes 12 ms.
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
            if i0 == 0 and i1 > 1:  # SciPy warns where the first draw is no power of two; blocks need not be
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
    """Groups of points from which Sobol' indices are estimated: of each group two points A and B are
    independent, the others mixtures.

        A,  A with the first coordinate of B,  A with the second, …,  (B with the first of A, …,)  B

    The middle part is there for second-order indices. In the order in which SALib reads them; made here
    because its sampler makes all at once, and slowly.  Source: Saltelli (2002), Saltelli et al. (2010).
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
        stepped = turn < np.arange(self.group)  # names, trajectories, points of one
        points = (lower + half * (stepped == upwards)) / (self.levels - 1)
        found: np.ndarray = points.reshape(len(self.names), -1)[
            :, i0 - g0 * self.group : i1 - g0 * self.group
        ]
        return found


def group_size(kind: str, count: int, second_order: bool = False) -> int:
    """Runs that are evaluated together: 1 but in "saltelli" and "morris"."""
    return {"saltelli": 2 * count + 2 if second_order else count + 2, "morris": count + 1}.get(kind, 1)
