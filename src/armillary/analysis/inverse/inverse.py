"""Efforts of a motion: inverse dynamics as a compiled function of its own, at places or along a run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from armillary.algebra.expression import Expr
from armillary.algebra.units import FORCE, MOMENT, SPEED
from armillary.analysis.inverse.actuators import Actuated, actuated, strengths
from armillary.analysis.inverse.efforts import Efforts
from armillary.analysis.inverse.equations import InverseEquations, inverse_equations
from armillary.analysis.inverse.runs import run_places
from armillary.analysis.places import PlaceReader, Places
from armillary.columns import counted
from armillary.errors import ArmillaryError, nearest
from armillary.kept_results import kept_per_object
from armillary.program.cost import Operations
from armillary.results import Run
from armillary.runtime.models.compiled import CompiledModel
from armillary.runtime.models.programs.functions import ModelFunctions

_OFF = 1e-5  # by which a loop may be open, as at the start of a run


def inverse(
    model: CompiledModel,
    q: object,
    u: object = None,
    udot: object = None,
    parameters: Mapping[str, object] | None = None,
    *,
    t: object = 0.0,
    memory: object = None,
    states: object = None,
    actuators: Sequence[str] | None = None,
    reactions: Sequence[str] = (),
) -> Efforts:
    """Efforts at places of a motion; see ``Model.inverse``."""
    made = inverse_model(model, actuators, reactions)
    if not isinstance(q, Run):
        places = made.reader.read(model.base, q, u, udot, t, memory, states, parameters)
        return made.efforts(places, parameters)
    plain = inverse_model(model)
    places = run_places(
        plain.equations, q, udot, lambda at: plain.free_rates(at, dict(q.parameters)), speeds=u
    )
    found = made.efforts(places, {**q.parameters, **(parameters or {})}, time=q.time)
    changing = [e.name for e in made.equations.system.events.values() if e.lock or e.unlock]
    if not changing:
        return found
    held = f"as if event '{changing[0]}' had locked and unlocked nothing"
    return replace(found, note=f"{found.note}; {held}" if found.note else held)


class InverseModel:
    """The inverse dynamics of a model: expressions, and machine code once it is wanted."""

    def __init__(
        self, model: CompiledModel, actuators: Sequence[str] | None = None, reactions: Sequence[str] = ()
    ) -> None:
        equations = model.base.equations
        self.expressions: InverseEquations = inverse_equations(equations)
        self.equations = self.expressions.equations
        system = self.equations.system
        self.bodies = tuple(name for name in reactions if name in system.bodies)
        self.constraints = tuple(name for name in reactions if name in system.constraints)
        self.actuated: Actuated | None = None
        if actuators is not None:
            self.actuated = actuated(self.equations, actuators, self._speed_units(range(len(system.speeds))))
            self.expressions = self.actuated.expressions
        found = self.expressions
        self.prescribed = tuple(system.speeds[i].data.name for i in found.given)
        given = dict(self._speed_units(found.given))
        if self.actuated is None:
            self.units = {**self._speed_units(found.independent), **given}
        else:
            own = {a.name: a.units for a in self.actuated.actuators}
            if twice := [name for name in given if name in own]:
                raise ArmillaryError(
                    f"inverse(): '{twice[0]}' is prescribed or locked, so its effort is found anyway; leave "
                    "it out of actuators="
                )
            self.units = {**own, **given}
        self.names = tuple(self.units)
        self.reader = PlaceReader(self.equations)

    def _speed_units(self, indices: Sequence[int]) -> dict[str, str]:
        """Units of efforts along speeds: of power per unit of the speed."""
        system = self.equations.system
        speeds = [system.speeds[i] for i in indices]
        power = FORCE * SPEED
        return {
            u.data.name: system.units.unit_text(power / u.dimension if u.dimension is not None else power)
            for u in speeds
        }

    @cached_property
    def functions(self) -> ModelFunctions:
        """Efforts, gaps of loops and reactions; with actuators, what leads to their strengths."""
        found, inputs = self.expressions, list(self.expressions.rates)
        wanted: dict[str, Sequence[Expr]] = {"efforts": [*found.along_independent, *found.along_given]}
        reactions = found.reactions(self.bodies, self.constraints) if self.bodies or self.constraints else []
        if self.actuated is not None:
            inputs += [a.symbol for a in self.actuated.actuators]
            reactions = self.actuated.acting(reactions)
            wanted = {
                "left": self.actuated.left,
                "gains": self.actuated.gains,
                "efforts": self.actuated.acting(found.along_given),
            }
        gaps = [row.gap for row in found.reduction.elimination.kept if row.gap is not None]
        wanted |= {"gaps": gaps} if gaps else {}
        wanted |= {"reactions": reactions} if reactions else {}
        return ModelFunctions(self.equations, {name: e for name, e in wanted.items() if e}, inputs)

    @property
    def operations(self) -> Operations:
        """Operations of one evaluation of all efforts."""
        return self.functions.operations["efforts"]

    @property
    def address(self) -> int:
        """Address of the compiled function of [state, rates] that gives all efforts."""
        return self.functions.address("efforts")

    def efforts(
        self, places: Places, parameters: Mapping[str, object] | None, time: np.ndarray | None = None
    ) -> Efforts:
        """Efforts at places: of actuators or along independent speeds, and along prescribed ones."""
        self.check_closed(places, parameters)
        note, inputs = "", places.rates
        if self.actuated is None:
            values = self.rows("efforts", places, parameters, inputs)
        else:
            e, note = self._strengths(places, parameters)
            inputs = np.hstack([places.rates, e])
            values = e * [a.factor for a in self.actuated.actuators]
            if self.prescribed:
                values = np.hstack([values, self.rows("efforts", places, parameters, inputs)])
        return Efforts(
            self.equations.system.name,
            self.names,
            values.reshape(*places.shape, len(self.names)),
            self.units,
            self.prescribed,
            time,
            note,
            self._reactions(places, parameters, inputs),
            self._reaction_units,
        )

    def _strengths(self, places: Places, parameters: Mapping[str, object] | None) -> tuple[np.ndarray, str]:
        assert self.actuated is not None
        n, m = len(self.expressions.independent), len(self.actuated.actuators)
        still = np.hstack([places.rates, np.zeros((len(places.states), m))])
        left = self.rows("left", places, parameters, still) if n else np.zeros((len(still), 0))
        gains = self.rows("gains", places, parameters, still) if n * m else np.zeros((len(still), 0))
        units = self._speed_units(self.expressions.independent)
        found, chosen = strengths(left, gains.reshape(len(still), n, m), tuple(units), units)
        note = (
            f"{counted(m, 'actuator')} on {counted(n, 'freedom')}: strengths of least norm" if chosen else ""
        )
        return found, note

    def _reactions(
        self, places: Places, parameters: Mapping[str, object] | None, inputs: np.ndarray
    ) -> dict[str, np.ndarray]:
        if not self.bodies and not self.constraints:
            return {}
        values = self.rows("reactions", places, parameters, inputs)
        split = 6 * len(self.bodies)
        found = {
            name: values[:, 6 * k : 6 * k + 6].reshape(*places.shape, 6) for k, name in enumerate(self.bodies)
        }
        return found | {
            name: values[:, split + k].reshape(places.shape) for k, name in enumerate(self.constraints)
        }

    @cached_property
    def _reaction_units(self) -> dict[str, str]:
        system = self.equations.system
        force, moment = system.units.unit_text(FORCE), system.units.unit_text(MOMENT)
        turning = {
            name for name in self.constraints if (c := system.constraints[name].load) and c.kind == "moment"
        }
        own = {name: moment if name in turning else force for name in self.constraints}
        return dict.fromkeys(self.bodies, f"{force}, {moment}") | own

    def free_rates(self, places: Places, parameters: Mapping[str, object] | None) -> np.ndarray:
        """Rates of the independent speeds at which no effort acts along them: M u̇ = −e(u̇ = 0).

        The columns of M are differences of efforts, which are linear in the rates.
        """
        rows, n = places.states.shape[0], places.rates.shape[1]
        at_rest = np.zeros((rows, n))
        force = self.rows("efforts", places, parameters, at_rest)[:, :n]
        mass = np.empty((rows, n, n))
        for k in range(n):
            unit = at_rest.copy()
            unit[:, k] = 1.0
            mass[:, :, k] = self.rows("efforts", places, parameters, unit)[:, :n] - force
        return np.linalg.solve(mass, -force[..., None])[..., 0] if rows else at_rest

    def rows(
        self, name: str, places: Places, parameters: Mapping[str, object] | None, inputs: np.ndarray
    ) -> np.ndarray:
        """The results of a function at places, a row each."""
        if not places.shape:
            t, y, stored, given = float(places.t[0]), places.states[0], places.memory[0], inputs[0]
            return self.functions(name, t, y, parameters, stored, given)[None]
        return self.functions.rows(name, places.t, places.states, parameters, places.memory, inputs)

    def check_closed(self, places: Places, parameters: Mapping[str, object] | None) -> None:
        """An error where loops are not closed."""
        rows = [row for row in self.expressions.reduction.elimination.kept if row.gap is not None]
        if not rows or not len(places.states):
            return
        inputs = np.zeros((len(places.states), len(self.functions.equations.program.inputs)))
        gaps = np.abs(self.rows("gaps", places, parameters, inputs))
        if not np.max(gaps) < _OFF:
            i, k = np.unravel_index(int(np.argmax(np.nan_to_num(gaps, nan=np.inf))), gaps.shape)
            where = f" in row {i + 1}" if places.shape else ""
            raise ArmillaryError(
                f"inverse(): constraint '{rows[k].constraint.name}' is open by {gaps[i, k]:.3g}{where}; give "
                "coordinates that close the loops, e.g. model.state({…}) or those of a run"
            )


_made = kept_per_object(InverseModel)


def inverse_model(
    model: CompiledModel, actuators: Sequence[str] | None = None, reactions: Sequence[str] = ()
) -> InverseModel:
    """The inverse dynamics of a model, made once for each choice of actuators and reactions."""
    base = model.base
    chosen = None if actuators is None else _names(actuators, "actuators=")
    wanted = _reaction_names(base, reactions)
    return _made(base, chosen, wanted)


def _names(names: object, what: str) -> tuple[str, ...]:
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise ArmillaryError(f"inverse(): {what} must be a list of names, not {names!r}")
    return tuple(str(name) for name in names)


def _reaction_names(model: CompiledModel, reactions: object) -> tuple[str, ...]:
    system = model.equations.system
    known = [*system.bodies, *system.constraints]
    names = _names(reactions, "reactions=")
    if unknown := [name for name in names if name not in known or name == system.ground.name]:
        raise ArmillaryError(
            f"inverse(): there is no body with a joint and no constraint '{unknown[0]}'"
            f"{nearest(unknown[0], known)}"
        )
    return names
