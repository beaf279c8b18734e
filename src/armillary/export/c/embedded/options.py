"""Options of programs for microcontrollers, checked."""

from __future__ import annotations

from armillary.errors import ArmillaryError, nearest
from armillary.runtime.integrators.records import Method
from armillary.runtime.solver.methods import exported_methods

PRECISIONS = ("single", "double")


def checked_precision(precision: str) -> str:
    """A precision that there is."""
    if precision not in PRECISIONS:
        raise ArmillaryError(
            f"precision is '{precision}'{nearest(str(precision), PRECISIONS)}; an embedded program is in "
            "'single' (float) or 'double' precision"
        )
    return precision


def fixed_method(name: str) -> Method:
    """The exported method of this name, of fixed step."""
    methods = {m.name: m for m in exported_methods(adaptive=False)}
    if name not in methods:
        raise ArmillaryError(
            f"an embedded program takes steps of fixed size, whose work is the same every time; method is "
            f"'{name}'{nearest(str(name), methods)}, and there are {', '.join(methods)}"
        )
    return methods[name]
