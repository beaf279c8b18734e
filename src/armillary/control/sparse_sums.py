"""Sums of products with constant coefficients: rows and matrices from values at single points.

    out_r = Σ_e (a_e + T b_e) source_{i(e)} source_{j(e)}        over the terms e of r

The terms are fixed when a program is made; one compiled loop adds them up. The first number of the source is
1, so products with j = 0 are single numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np

from armillary.llvm.building.builder import Local
from armillary.llvm.building.emitter import NOTHING, IRModule
from armillary.llvm.building.routines import (
    RoutineLayout,
    RoutineMethod,
    compiled_method,
    real_array,
    routine,
    whole_array,
)

_LAYOUT = RoutineLayout(
    numbers=("count",),
    addresses=("starts", "places", "others", "constant", "timed", "duration", "source", "out"),
)


Numbers = float | np.ndarray | np.integer


class SparsePlaces:
    """The pattern of a sparse matrix whose elements are sums of contributions."""

    def __init__(self, rows: np.ndarray, columns: np.ndarray, shape: tuple[int, int]) -> None:
        keys, self.element = np.unique(columns * shape[0] + rows, return_inverse=True)
        self.rows, self.columns = keys % shape[0], keys // shape[0]
        self.shape = shape

    def sum(self, values: np.ndarray) -> np.ndarray:
        """Return the sum of the contributions to each element."""
        return np.bincount(self.element, weights=values, minlength=len(self.rows))


class Places:
    """A counter that hands out consecutive indices of an array."""

    def __init__(self) -> None:
        self.count = 0

    def take(self, *shape: int) -> np.ndarray:
        """Return the next indices, in a given shape."""
        first, self.count = self.count, self.count + int(np.prod(shape))
        return np.arange(first, self.count).reshape(shape)


class Terms:
    """A list of terms under construction."""

    def __init__(self) -> None:
        self._parts: list[Sequence[np.ndarray]] = []

    def add(
        self,
        out: Numbers,
        place: Numbers,
        constant: Numbers = 0.0,
        timed: Numbers = 0.0,
        other: Numbers = 0,
    ) -> None:
        """Add out += (constant + T · timed) · source[place] · source[other], with broadcast arguments.

        Terms with a negative ``out`` are left out.
        """
        spread = np.broadcast_arrays(out, place, other, constant, timed)
        self._parts.append([a.ravel() for a in spread])

    def arrays(self) -> list[np.ndarray]:
        """Return out, place, other, constant and timed of all terms."""
        found = [np.concatenate(part) for part in zip(*self._parts, strict=True)]
        keep = found[0] >= 0
        return [a[keep] for a in found]


class SparseSums:
    """The sums of some terms of ``source``, in ``out``; neither array may be reallocated.

    ``element`` replaces the terms' indices ``out``.
    """

    def __init__(
        self,
        terms: Terms,
        count: int,
        source: np.ndarray,
        out: np.ndarray | None = None,
        element: np.ndarray | None = None,
    ) -> None:
        own, place, other, constant, timed = terms.arrays()
        own = own if element is None else element
        order = np.argsort(own, kind="stable")
        self._duration = np.zeros(1)
        self.out = np.zeros(count) if out is None else out
        self._arrays = {
            "starts": whole_array(np.searchsorted(own[order], np.arange(count + 1))),
            "places": whole_array(place[order]), "others": whole_array(other[order]),
            "constant": real_array(constant[order]), "timed": real_array(timed[order]),
            "duration": self._duration, "source": source, "out": self.out,
        }  # fmt: skip
        fields = _LAYOUT.fields({"count": count, **self._arrays})
        self._add = _method().bind("add_products" if np.any(other) else "add_terms", fields)

    def run(self, duration: float) -> None:
        """Compute all sums, in ``out``."""
        self._duration[0] = duration
        self._add()

    def __call__(self, duration: float) -> np.ndarray:
        """Return all sums, in a new array."""
        self.run(duration)
        return self.out.copy()


def text() -> str:
    """Return the LLVM text of ``armillary_add_terms(fields)`` and ``armillary_add_products(fields)``."""
    module = IRModule()
    for name in ("add_terms", "add_products"):
        f = routine(module, _LAYOUT, name, NOTHING, public=True)
        constant, timed, source, out = (f.vector(field) for field in ("constant", "timed", "source", "out"))
        duration = f.vector("duration")[0]
        with f.each(f["count"]) as r:
            found = Local(f, f.real(0.0))
            with f.span(f.index("starts", r), f.index("starts", r + 1)) as e:
                factor = constant[e] + duration * timed[e]
                if name == "add_products":
                    factor = factor * source[f.index("others", e)]
                found.set(found.get() + factor * source[f.index("places", e)])
            out[r] = found.get()
        f.give()
    return str(module)


@cache
def _method() -> RoutineMethod:
    entries = ("add_terms", "add_products")
    return compiled_method("sparse sums", text, [Path(__file__)], entries, of_all_models=True)
