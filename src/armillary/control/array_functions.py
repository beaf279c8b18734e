"""A model's rates, outputs, steps and runs as functions of arrays, with their pullbacks and tangents.

    rates      (x, v, p)         → ẋ
    outputs    (x, v, p)         → y, in stated units
    step       (x, v, p)         → x after one step with v held
    run        (x, v₀ … v_N, p)  → x at the start and after each step

Arrays may have any leading axes, over which one compiled loop runs. The bridges to JAX and PyTorch call these
functions. Outputs are in stated units (those of the description), all other numbers in the model's own units.
Arguments in single precision are converted to double precision for the computation, and the results back to
single.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isfinite, nan, prod
from typing import NamedTuple, TypeVar

import numpy as np

from armillary.algebra.arguments import checked_names, count, one_of, positive_number, several
from armillary.algebra.calculus import pullback, tangents
from armillary.algebra.expression import symbol
from armillary.control.adjoint import HeldInputs, RunMap, StepGrid, TangentMap
from armillary.control.plant import input_ports
from armillary.errors import ArmillaryError, ParameterError
from armillary.program.formalisms.formalism import derivation
from armillary.program.sensitivities import outputs_of
from armillary.runtime.models.compiled import compiled_model
from armillary.runtime.models.compiled_program import ModelFunctions
from armillary.solver.methods.registry import METHODS
from armillary.untyped import DataTable, LibraryObject

EXPLICIT = tuple(
    name for name, m in METHODS.items() if m.tableau and not m.family and not m.tableau.multistep
)


FIRST_DERIVATIVES = "{name} has only first derivatives; for second ones, use model.second_derivatives"


class Pulled(NamedTuple):
    """Derivatives of a weighted sum of results by states, inputs and parameters."""

    x: np.ndarray
    v: np.ndarray
    p: np.ndarray


class ArrayFunction(NamedTuple):
    """A function of arrays (t, x, v, p) with its derivatives.

    ``pull`` is its pullback, a function of (t, x, v, p, weights). ``push`` is its derivative along a
    direction (ẋ, v̇, ṗ), a function of (t, x, v, p, ẋ, v̇, ṗ). ``shape`` returns the shape of the results
    from the shape of v, both without leading axes.
    """

    value: Callable[..., np.ndarray]
    pull: Callable[..., Pulled]
    push: Callable[..., np.ndarray]
    shape: Callable[[tuple[int, ...]], tuple[int, ...]]
    inputs: int  # number of axes of v without the leading ones


@dataclass(frozen=True, eq=False)
class LibraryFunctions:
    """Functions of another library's arrays: x states, v inputs, p parameters, all in the model's own units.

        derivatives(x, v, p, t)   ẋ
        outputs(x, v, p, t)       outputs, in stated units
        step(x, v, p, t)          x after a step with v held
        run(x, v, p, t)           x at the start and after each step, for rows of v

    v and p may be left out: inputs then have their initial values, and parameters their defaults. A run
    without v takes ``steps=``. ``states``, ``inputs``, ``parameters`` and ``output_names`` name the elements,
    ``start`` is the described initial state and ``defaults`` are the parameters' values, as NumPy arrays.
    """

    derivatives: Callable[..., LibraryObject]
    outputs: Callable[..., LibraryObject]
    step: Callable[..., LibraryObject]
    run: Callable[..., LibraryObject]
    states: tuple[str, ...]
    inputs: tuple[str, ...]
    parameters: tuple[str, ...]
    output_names: tuple[str, ...]
    start: np.ndarray
    defaults: np.ndarray


Kind = TypeVar("Kind", bound=LibraryFunctions)


def fill_library_functions(
    kind: type[Kind], of: ArrayFunctions, bridge: Callable[[str, ArrayFunction], Callable[..., LibraryObject]]
) -> Kind:
    """Return a model's functions in a library, each made by ``bridge`` from a name and an array function."""
    made = {"derivatives": of.rates, "outputs": of.outputs, "step": of.step, "run": of.run}
    return kind(
        **{name: bridge(name, function) for name, function in made.items()},
        states=of.states, inputs=of.inputs, parameters=of.parameters, output_names=of.output_names,
        start=of.start, defaults=of.defaults,
    )  # fmt: skip


class ArrayFunctions:
    """The functions of one model, with names of their variables."""

    def __init__(
        self,
        model: object,
        inputs: Sequence[str] | None = None,
        parameters: Sequence[str] | None = None,
        outputs: Sequence[str] | None = None,
        step: float | None = None,
        method: str = "rk4",
        parts: int = 1,
        ignore_jumps: bool = False,
    ) -> None:
        model = compiled_model(model)
        equations = model.equations
        system = equations.system
        known = [name for name, m in system.memories.items() if m.input and not m.rate_of]
        names = known if inputs is None else list(map(str, several(inputs, "inputs=")))
        if names:
            input_ports(equations, names)  # raises errors for unknown names
        chosen = [] if parameters is None else list(map(str, several(parameters, "parameters=")))
        checked_names(chosen, list(system.parameters), f"'{system.name}' has no parameter", ParameterError)
        chosen_method = METHODS[one_of(method, EXPLICIT, "no explicit method ")]
        self._map = RunMap(model, chosen_method, names, chosen, ignore_jumps=ignore_jumps)
        self._equations = equations
        self.h = None if step is None else positive_number(step, "step", ParameterError)
        self.parts = count(parts, "parts")
        self.states = tuple(p.name for p in self._map.states)
        self.inputs, self.parameters = tuple(names), tuple(chosen)
        self.output_names = outputs_of(equations, None if outputs is None else tuple(map(str, outputs)))
        self.start = model.state()
        self.held = self._map.memory[self._map.places]
        self._factors = np.array([p.factor for p in self._map.parameters])
        defaults = [model.parameter_table.values(None).get(name, nan) for name in chosen]
        self.defaults = np.array(defaults) * self._factors

    # ------------------------------------------------------------ the functions

    @property
    def rates(self) -> ArrayFunction:
        """The rates ẋ of the states."""
        n = len(self.states)
        return ArrayFunction(self._rates, self._pull_rates, self._push_rates, lambda v: (n,), 1)

    @property
    def outputs(self) -> ArrayFunction:
        """The outputs, in stated units."""
        m = len(self.output_names)
        return ArrayFunction(self._outputs, self._pull_outputs, self._push_outputs, lambda v: (m,), 1)

    @property
    def step(self) -> ArrayFunction:
        """The state after one step with v held."""
        n = len(self.states)
        return ArrayFunction(self._step, self._pull_step, self._push_step, lambda v: (n,), 1)

    @property
    def run(self) -> ArrayFunction:
        """States at the start and after each step: one row more than v."""
        n = len(self.states)
        return ArrayFunction(self._run, self._pull_run, self._push_run, lambda v: (v[0] + 1, n), 2)

    def _rates(self, t: float, x: np.ndarray, v: np.ndarray, p: np.ndarray) -> np.ndarray:
        return self._at_places("rates", self._map.functions, t, x, v, p)

    def _pull_rates(self, t: float, x: np.ndarray, v: np.ndarray, p: np.ndarray, w: np.ndarray) -> Pulled:
        return self._cut(self._at_places("pull", self._map.functions, t, x, v, p, w))

    def _outputs(self, t: float, x: np.ndarray, v: np.ndarray, p: np.ndarray) -> np.ndarray:
        return self._at_places("shown", self._output_functions, t, x, v, p)

    def _pull_outputs(self, t: float, x: np.ndarray, v: np.ndarray, p: np.ndarray, w: np.ndarray) -> Pulled:
        return self._cut(self._at_places("pull", self._output_functions, t, x, v, p, w))

    def _step(self, t: float, x: np.ndarray, v: np.ndarray, p: np.ndarray) -> np.ndarray:
        return self._run(t, x, v[..., None, :], p)[..., -1, :]

    def _pull_step(self, t: float, x: np.ndarray, v: np.ndarray, p: np.ndarray, w: np.ndarray) -> Pulled:
        weights = np.stack([np.zeros_like(w), w], axis=-2)
        found = self._pull_run(t, x, v[..., None, :], p, weights)
        return Pulled(found.x, found.v[..., 0, :], found.p)

    def _run(self, t: float, x: np.ndarray, v: np.ndarray, p: np.ndarray) -> np.ndarray:
        lead, rows, held, grid, values = self._laid_out(t, x, v, p)
        found = self._map.run(rows, grid, held, values).states
        return found.reshape(*lead, *found.shape[1:]).astype(x.dtype, copy=False)

    def _pull_run(self, t: float, x: np.ndarray, v: np.ndarray, p: np.ndarray, w: np.ndarray) -> Pulled:
        lead, rows, held, grid, values = self._laid_out(t, x, v, p)
        seeds = w.reshape(len(rows), *w.shape[-2:])
        found = self._map.pull(rows, grid, held, seeds, None, values)
        by_inputs = found.by_inputs[:, :, 0].reshape(*lead, v.shape[-2], self.parts, -1).sum(axis=-2)
        return Pulled(
            found.by_start.reshape(x.shape).astype(x.dtype, copy=False),
            by_inputs.astype(v.dtype, copy=False),
            found.by_parameters.reshape(p.shape).astype(p.dtype, copy=False),
        )

    # ------------------------------------------------------------ along a direction

    @cached_property
    def _tangents(self) -> TangentMap:
        return TangentMap(self._map)

    def _push_rates(self, t: float, *given: np.ndarray) -> np.ndarray:
        x, v, p, *moves = given
        found = self._at_places("rates", self._tangents.functions, t, x, v, p, _side_by_side(moves))
        return found[..., len(self.states) :]

    def _push_outputs(self, t: float, *given: np.ndarray) -> np.ndarray:
        x, v, p, *moves = given
        return self._at_places("pushed", self._pushed_outputs, t, x, v, p, _side_by_side(moves))

    def _push_step(self, t: float, *given: np.ndarray) -> np.ndarray:
        x, v, p, moved_x, moved_v, moved_p = given
        rows = (x, v[..., None, :], p, moved_x, moved_v[..., None, :], moved_p)
        return self._push_run(t, *rows)[..., -1, :]

    def _push_run(self, t: float, *given: np.ndarray) -> np.ndarray:
        x, v, p, moved_x, moved_v, moved_p = given
        lead, rows, held, grid, values = self._laid_out(t, x, v, p)
        count, steps = len(rows), len(grid.lengths)
        start = np.concatenate([rows, np.asarray(moved_x, dtype=float).reshape(count, -1)], axis=1)
        inputs = np.asarray(moved_v, dtype=float).reshape(count, v.shape[-2], len(self.inputs))
        parameters = np.asarray(moved_p, dtype=float).reshape(count, 1, len(self.parameters))
        moves = np.concatenate(
            [
                np.repeat(inputs, self.parts, axis=1),
                np.broadcast_to(parameters, (count, steps, len(self.parameters))),
            ],
            axis=2,
        )
        moves = moves if moves.size else np.zeros((count, 1))
        found = self._tangents.run(start, grid, held, values, moves=moves).states[:, :, len(self.states) :]
        return found.reshape(*lead, *found.shape[1:]).astype(x.dtype, copy=False)

    # ------------------------------------------------------------ inside

    def compile(self, name: str) -> None:
        """Compile what a function needs, so that errors are raised here and not in a library's callback."""
        _ = self._output_functions if name == "outputs" else self._map.functions

    def check(self, x: tuple[int, ...], v: tuple[int, ...], p: tuple[int, ...], axes: int, name: str) -> None:
        """Raise an error for wrong shapes."""
        n, m, k = len(self.states), len(self.inputs), len(self.parameters)
        if name in ("step", "run") and self.h is None:
            raise ArmillaryError(f"{name} needs the length of steps: give step= where the functions are made")
        for what, shape, last in (("x", x, n), ("v", v, m), ("p", p, k)):
            least = axes if what == "v" else 1
            if len(shape) < least or shape[-1] != last:
                named = {"x": self.states, "v": self.inputs, "p": self.parameters}[what]
                rows = "rows of " if what == "v" and axes == 2 else ""
                listed = f" ({', '.join(named)})" if named else ""
                raise ArmillaryError(
                    f"{name}: {what} has the shape {tuple(shape)}, and must end in {rows}{last} "
                    f"numbers{listed}"
                )

    def default_inputs(self, name: str, steps: int | None) -> np.ndarray:
        """Return the initial values of the inputs: one row or, for ``run``, a row for each step."""
        if name != "run":
            return self.held
        if steps is None:
            raise ArmillaryError("run: give v with a row for each step, or steps= for constant inputs")
        return np.tile(self.held, (count(steps, "steps"), 1))

    def _values(self, p: np.ndarray, rows: int) -> DataTable | None:
        """Return parameters by name in stated units, as numbers or with one value per row."""
        if not self.parameters:
            return None
        columns = np.asarray(p, dtype=float).reshape(rows, -1) / self._factors
        if rows == 1:
            return dict(zip(self.parameters, columns[0].tolist(), strict=True))
        return {name: np.ascontiguousarray(columns[:, i]) for i, name in enumerate(self.parameters)}

    def _laid_out(
        self, t: float, x: np.ndarray, v: np.ndarray, p: np.ndarray
    ) -> tuple[tuple[int, ...], np.ndarray, HeldInputs, StepGrid, DataTable | None]:
        """Return leading axes, rows of states, inputs of all steps, the steps and the parameters."""
        assert self.h is not None
        lead, rows = x.shape[:-1], prod(x.shape[:-1])
        steps, m = v.shape[-2:]
        held = np.repeat(np.asarray(v, dtype=float).reshape(rows, steps, m), self.parts, axis=1)
        grid = StepGrid.equal_steps(t, self.h / self.parts, steps * self.parts, self.parts)
        start = np.asarray(x, dtype=float).reshape(rows, -1)
        return lead, start, HeldInputs(held[:, :, None, :]), grid, self._values(p, rows)

    def _at_places(
        self,
        name: str,
        functions: ModelFunctions,
        t: float,
        x: np.ndarray,
        v: np.ndarray,
        p: np.ndarray,
        weights: np.ndarray | None = None,
    ) -> np.ndarray:
        lead, rows = x.shape[:-1], prod(x.shape[:-1])
        memory = np.tile(self._map.memory, (rows, 1))
        memory[:, self._map.places] = v.reshape(rows, -1)
        states = np.asarray(x, dtype=float).reshape(rows, -1)
        given = None if weights is None else np.asarray(weights, dtype=float).reshape(rows, -1)
        constants = functions.constants(self._values(p, rows))
        found = functions.rows(name, t, states, None, memory, given, constants)
        return found.reshape(*lead, -1).astype(x.dtype, copy=False)

    def _cut(self, whole: np.ndarray) -> Pulled:
        n, m = len(self.states), len(self.inputs)
        return Pulled(whole[..., :n], whole[..., n : n + m], whole[..., n + m :])

    @cached_property
    def _output_functions(self) -> ModelFunctions:
        columns = {c.name: c.expression for c in self._equations.targets.columns}
        results = [columns[name] for name in self.output_names]
        owner = self._equations.system.identity
        weights = [symbol(f"weight_{i + 1}", "variable", owner=owner) for i in range(len(results))]
        with derivation():
            pulled = pullback(results, weights, self._map.by)
        return ModelFunctions(self._equations, {"shown": results, "pull": pulled}, weights)

    @cached_property
    def _pushed_outputs(self) -> ModelFunctions:
        columns = {c.name: c.expression for c in self._equations.targets.columns}
        owner, by = self._equations.system.identity, self._map.by
        moving = {s: symbol(f"move_{i + 1}", "variable", owner=owner) for i, s in enumerate(by)}
        with derivation():
            pushed = tangents([columns[name] for name in self.output_names], moving)
        return ModelFunctions(self._equations, {"pushed": pushed}, tuple(moving.values()))


def _side_by_side(moves: Sequence[np.ndarray]) -> np.ndarray:
    return np.concatenate([np.asarray(m, dtype=float) for m in moves], axis=-1)


def checked_time(t: object) -> float:
    """Return t as a plain number: the functions have no derivatives by time."""
    try:
        found = float(t)  # type: ignore[arg-type]  # raises for anything but a number
    except (TypeError, ValueError) as error:
        raise ArmillaryError("t must be a plain number: there are no derivatives by time") from error
    if not isfinite(found):
        raise ArmillaryError(f"t must be finite, not {found}")
    return found
