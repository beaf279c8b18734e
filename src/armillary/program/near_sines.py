"""Derivatives within a step, with sines found by increments from the sines of its first stage.

With an angle x, near the angle q of the first stage, and d = x − q,

    sin x = sin q + (cos q sin d + sin q (cos d − 1)),    cos x = cos q − (sin q sin d − cos q (cos d − 1)).

Taylor's series of sin d and cos d − 1 to the fifth and sixth order are right to rounding for |d| ≤ 1/64: 12
operations on vectors in place of 38. CUDA's kernels have the same (``export/cuda/templates/increments.txt``).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce

from armillary.algebra.expression import Expr, symbol
from armillary.algebra.functions import cos, let, maximum, sin
from armillary.algebra.walk import transform
from armillary.program.call_packs import PACKED_CALLS
from armillary.program.program import Program, ProgramSection, section

LARGEST = 1.0 / 64.0**2  # d² for which the series are right to rounding


@dataclass(frozen=True)
class NearSines:
    """Two sections in place of ``derivatives``.

    The first has as further results the sine and cosine of every angle; the second takes the ``angles`` of
    the first and these ``sines`` as inputs, and its last result is the largest d².
    """

    first: ProgramSection
    further: ProgramSection
    angles: dict[Expr, int]  # inputs, to places in the state
    sines: tuple[Expr, ...]  # inputs: sine, cosine, sine, …


def near_sines(program: Program) -> NearSines | None:
    """Return the near-sine sections of a program; `None` if it has no sine or cosine of a coordinate, or more
    other elementary functions, such as those of tyres: then nothing is gained by two sections.
    """
    derivatives = program.derivatives
    places = {s: i for i, s in enumerate(program.state)}
    calls = [n for n in derivatives.nodes if n.kind == "call" and n.data in ("sin", "cos")]
    found = dict.fromkeys([n.args[0] for n in calls if n.args[0] in places])
    others = [n for n in derivatives.nodes if n.kind == "call" and n.data in PACKED_CALLS]
    if not found or len(others) > 2 * len(calls):
        return None
    whole = [function(x) for x in found for function in (sin, cos)]
    missing = [n for n in whole if n not in calls]
    first = replace(
        derivatives,
        labels=(*derivatives.labels, *map(str, whole)),
        results=(*derivatives.results, *whole),
        nodes=(*missing, *derivatives.nodes),
    )
    angles: dict[Expr, int] = {}
    sines: list[Expr] = []
    instead: dict[Expr, Expr] = {}
    squares = []
    for x in found:
        q, s, c = (symbol(f"{name} {len(angles)} of the first stage") for name in ("angle", "sine", "cosine"))
        angles[q] = places[x]
        sines += [s, c]
        d = let(x - q)
        z = let(d * d)
        sine = let(d + let(d * z) * let(z / 120 - 1 / 6))
        less = let(z * let(z * let(1 / 24 - z / 720) - 1 / 2))
        instead[sin(x)], instead[cos(x)] = let(s + s * less + c * sine), let(c + c * less - s * sine)
        squares.append(z)
    results = [*transform(derivatives.results, instead.get), reduce(maximum, squares)]
    further = section("derivatives_near", [*derivatives.labels, "largest d²"], results)
    return NearSines(first, further, angles, tuple(sines))
