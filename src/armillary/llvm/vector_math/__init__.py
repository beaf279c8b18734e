"""Elementary functions of several numbers at once, as LLVM code.

``function`` gives the code of one of them for vectors of any length; a file holds a function or a family, and
``instructions.py`` writes the lines. No calls, branches or tables, but for
angles beyond 8·10⁵, whose tangents are the library's. Errors in units of the last place, the largest found:

    exp 0.8   log 0.9   atan 0.8   atan2 0.9   asin 0.7   acos 0.7   tan 1.5   tanh 0.9   pow 1.2

NaN, infinities, signs of zero and numbers below the normal ones are as in C.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from armillary.llvm.instructions import Instructions
from armillary.llvm.vector_math.angle import atan, atan2
from armillary.llvm.vector_math.exponential import exp
from armillary.llvm.vector_math.hyperbolic import tanh
from armillary.llvm.vector_math.inverse_sine import acos, asin
from armillary.llvm.vector_math.logarithm import log
from armillary.llvm.vector_math.power import pow
from armillary.llvm.vector_math.tangent import tan

__all__ = ["BINARY", "UNARY", "function"]

UNARY: dict[str, Callable[[Instructions, str], str]] = {
    "tan": tan,
    "asin": asin,
    "acos": acos,
    "atan": atan,
    "exp": exp,
    "log": log,
    "tanh": tanh,
}
BINARY: dict[str, Callable[[Instructions, str, str], str]] = {"atan2": atan2, "pow": pow}


@cache
def function(name: str, lanes: int) -> tuple[str, str]:
    """Symbol and LLVM code of a function on vectors of ``lanes`` doubles, a power of two.

    The code of the tangent calls the library's ``tan`` and refers to the metadata ``!0`` of likely branches,
    which the module provides.
    """
    v = Instructions(lanes)
    symbol = f"vector_{name}_{lanes}"
    if name in UNARY:
        return symbol, v.function(symbol, ("%x",), v.real, UNARY[name](v, "%x"), "noinline")
    result = BINARY[name](v, "%x", "%y")
    return symbol, v.function(symbol, ("%x", "%y"), v.real, result, "noinline")
