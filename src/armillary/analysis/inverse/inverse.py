"""Efforts of a motion: inverse dynamics as a compiled function of its own, at one place or many."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from armillary.algebra.expression import Expr
from armillary.algebra.units.dimension import FORCE, SPEED
from armillary.analysis.inverse.efforts import Efforts
from armillary.analysis.inverse.equations import InverseEquations, inverse_equations
from armillary.analysis.inverse.places import Places, read_places
from armillary.errors import ArmillaryError
from armillary.program.cost import Operations
from armillary.runtime.models.compiled import CompiledModel
from armillary.runtime.models.functions import ModelFunctions

_OFF = 1e-5  # by which a loop may be open, as at the start of a run


def inverse(
    model: CompiledModel,
    q: Any,
    u: Any = None,
    udot: Any = None,
    parameters: Mapping[str, Any] | None = None,
    *,
    t: Any = 0.0,
    memory: Any = None,
    states: Any = None,
) -> Efforts:
    """Efforts at places of a motion; see ``Model.inverse``."""
    made = inverse_model(model)
    places = read_places(model.base, made.equations, q, u, udot, t, memory, states)
    return made.efforts(places, parameters)


class InverseModel:
    """The inverse dynamics of a model: expressions, and machine code once it is wanted."""

    def __init__(self, model: CompiledModel) -> None:
        self.expressions: InverseEquations = inverse_equations(model.base.equations)
        self.equations = self.expressions.equations
        system = self.equations.system
        self.speeds: tuple[Expr, ...] = tuple(
            system.speeds[i] for i in (*self.expressions.independent, *self.expressions.given)
        )
        self.names = tuple(u.data.name for u in self.speeds)
        self.prescribed = self.names[len(self.expressions.independent) :]

    @cached_property
    def functions(self) -> ModelFunctions:
        """The efforts along all speeds that are not dependent, and the gaps of loops."""
        found = self.expressions
        efforts = [*found.along_independent(found.tau), *found.along_given({})]
        gaps = [row.gap for row in found.reduction.elimination.kept if row.gap is not None]
        wanted = {"efforts": efforts, **({"gaps": gaps} if gaps else {})}
        return ModelFunctions(self.equations, wanted, found.rates)

    @property
    def operations(self) -> Operations:
        """Operations of one evaluation of all efforts."""
        return self.functions.operations["efforts"]

    @property
    def units(self) -> dict[str, str]:
        """Units of the efforts: of power per unit of the speed."""
        text = self.equations.system.units.unit_text
        return {
            u.data.name: text(FORCE * SPEED / u.dimension if u.dimension is not None else FORCE)
            for u in self.speeds
        }

    def efforts(self, places: Places, parameters: Mapping[str, Any] | None, **more: Any) -> Efforts:
        """Efforts at places, along independent and prescribed speeds."""
        self.check_closed(places, parameters)
        values = self.rows("efforts", places, parameters)
        return Efforts(
            self.equations.system.name,
            self.names,
            values.reshape(*places.shape, len(self.names)),
            self.units,
            self.prescribed,
            **more,
        )

    def rows(
        self,
        name: str,
        places: Places,
        parameters: Mapping[str, Any] | None,
        rates: np.ndarray | None = None,
    ) -> np.ndarray:
        """The results of a function at places, a row each."""
        inputs = places.rates if rates is None else rates
        return self.functions.rows(name, places.t, places.states, parameters, places.memory, inputs)

    def check_closed(self, places: Places, parameters: Mapping[str, Any] | None) -> None:
        """An error where loops are not closed."""
        rows = [row for row in self.expressions.reduction.elimination.kept if row.gap is not None]
        if not rows:
            return
        gaps = np.abs(self.rows("gaps", places, parameters))
        if gaps.size and not np.max(gaps) < _OFF:
            i, k = np.unravel_index(int(np.argmax(np.nan_to_num(gaps, nan=np.inf))), gaps.shape)
            where = f" in row {i + 1}" if places.shape else ""
            name = rows[k].constraint.name
            raise ArmillaryError(
                f"inverse(): constraint '{name}' is open by {gaps[i, k]:.3g}{where}; give coordinates that "
                "close the loops, e.g. model.state({…}) or those of a run"
            )


_MADE: WeakKeyDictionary[CompiledModel, InverseModel] = WeakKeyDictionary()


def inverse_model(model: CompiledModel) -> InverseModel:
    """The inverse dynamics of a model, made once."""
    base = model.base
    if base not in _MADE:
        _MADE[base] = InverseModel(base)
    return _MADE[base]
