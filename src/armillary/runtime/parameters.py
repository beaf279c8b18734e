"""Parameter values on their way into a compiled model: named, in their stated units, complete and finite."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from armillary.algebra.units import is_quantity, magnitude_in_si, parse_unit
from armillary.algebra.walk import symbols
from armillary.errors import ParameterError, nearest
from armillary.program.equations import Equations


@dataclass(frozen=True)
class ParameterTable:
    """Names, defaults and factors to the model's units, in the order in which the program reads them."""

    names: tuple[str, ...]
    defaults: tuple[float | None, ...]
    units: tuple[str, ...]
    factors: tuple[float, ...]
    needed: frozenset[str]
    scale_of_si: tuple[float, ...]

    def values(self, given: Mapping[str, Any] | None) -> dict[str, float]:
        """All values in stated units: given ones over defaults. Unknown, missing and impossible ones are
        errors.
        """
        given = dict(given or {})
        for name in given:
            if name not in self.names:
                raise ParameterError(f"there is no parameter '{name}'{nearest(name, self.names)}")
        result: dict[str, float] = {}
        missing = []
        for i, name in enumerate(self.names):
            value = given.get(name, self.defaults[i])
            if value is None:
                if name in self.needed:
                    missing.append(name)
                continue
            result[name] = self._plain(i, value)
        if missing:
            raise ParameterError(
                f"no value for parameter{'s' if len(missing) > 1 else ''} {', '.join(missing)}: "
                "give defaults in the description or parameters={…} in the call"
            )
        return result

    def _plain(self, i: int, value: Any) -> float:
        if is_quantity(value):
            value = magnitude_in_si(value).value / self.scale_of_si[i]
        try:
            number = float(value)
        except (TypeError, ValueError):
            raise ParameterError(f"parameter '{self.names[i]}' needs a number, not {value!r}") from None
        if not math.isfinite(number):
            raise ParameterError(f"parameter '{self.names[i]}' is {number}; give a finite number")
        return number

    def inside(self, values: Mapping[str, float]) -> np.ndarray:
        """Values in the model's own units, for precompute; those that nothing needs may be absent."""
        return np.array(
            [values.get(name, 0.0) * f for name, f in zip(self.names, self.factors, strict=True)], dtype=float
        )


def parameter_table(equations: Equations) -> ParameterTable:
    """The table of a system's parameters."""
    system, program = equations.system, equations.program
    used = {s.data.name for s in symbols(*program.precompute.results)}
    names, defaults, units, factors, scales = [], [], [], [], []
    for name, node in system.parameters.items():
        stated = node.data.units
        names.append(name)
        defaults.append(node.data.default)
        units.append(equations.parameter_units[name])
        factors.append(system.units.factor(parse_unit(stated)) if stated else 1.0)
        scales.append(parse_unit(stated).scale if stated else 1.0)
    return ParameterTable(
        tuple(names),
        tuple(defaults),
        tuple(units),
        tuple(factors),
        frozenset(used & set(names)),
        tuple(scales),
    )
