"""Elementary functions of several numbers at once, as LLVM code without branches and tables.

``function`` gives the code of one of them for vectors of any length; a file holds a function or a family.
``vectors.py`` writes the lines. A library's function takes one number at a time. Errors are in units of the
last place over all doubles; NaN, infinities, signs of zero and numbers below the normal ones are as in C.
"""

from __future__ import annotations

from collections.abc import Callable

from armillary.backends.vector_math.angle import atan, atan2
from armillary.backends.vector_math.exponential import exp
from armillary.backends.vector_math.logarithm import log
from armillary.backends.vector_math.vectors import Vectors

FUNCTIONS: dict[str, Callable[..., str]] = {"exp": exp, "log": log, "atan": atan, "atan2": atan2}
ARGUMENTS = {"atan2": ("%x1", "%x2"), "pow": ("%x1", "%x2")}


def function(name: str, lanes: int) -> tuple[str, str]:
    """Symbol and LLVM code of a function on vectors of ``lanes`` doubles."""
    v = Vectors(lanes)
    arguments = ARGUMENTS.get(name, ("%x",))
    result = FUNCTIONS[name](v, *arguments)
    symbol = f"vector_{name}_{lanes}"
    taken = ", ".join(f"{v.vector} {a}" for a in arguments)
    lines = [
        *v.declarations,
        f"define internal {v.vector} @{symbol}({taken}) noinline nounwind {{",
        *v.lines,
        f"  ret {v.vector} {result}",
        "}",
    ]
    return symbol, "\n".join(lines) + "\n"
