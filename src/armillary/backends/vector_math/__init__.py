"""Elementary functions of several numbers at once, as LLVM code without branches and tables.

``function`` gives the code of one of them for vectors of any length; a file holds a function or a family.
``vectors.py`` writes the lines. A library's function takes one number at a time. Errors are in units of the
last place over all doubles; NaN, infinities, signs of zero and numbers below the normal ones are as in C.
"""

from __future__ import annotations

from collections.abc import Callable

from armillary.backends.vector_math.angle import atan, atan2
from armillary.backends.vector_math.exponential import exp
from armillary.backends.vector_math.inverse_sine import acos, asin
from armillary.backends.vector_math.logarithm import log
from armillary.backends.vector_math.power import pow
from armillary.backends.vector_math.tangent import tan
from armillary.backends.vector_math.vectors import Vectors

UNARY: dict[str, Callable[[Vectors, str], str]] = {
    "tan": tan,
    "asin": asin,
    "acos": acos,
    "atan": atan,
    "exp": exp,
    "log": log,
}
BINARY: dict[str, Callable[[Vectors, str, str], str]] = {"atan2": atan2, "pow": pow}


def function(name: str, lanes: int) -> tuple[str, str]:
    """Symbol and LLVM code of a function on vectors of ``lanes`` doubles, a power of two.

    The code of the tangent calls the library's ``tan``, which the module declares.
    """
    v = Vectors(lanes)
    symbol = f"vector_{name}_{lanes}"
    if name in UNARY:
        return symbol, v.function(symbol, ("%x",), v.vector, UNARY[name](v, "%x"), "noinline")
    result = BINARY[name](v, "%x", "%y")
    return symbol, v.function(symbol, ("%x", "%y"), v.vector, result, "noinline")
