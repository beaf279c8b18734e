"""Second derivatives of a model's rates and outputs by its states and inputs, exact to rounding."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from armillary.algebra.arguments import several
from armillary.analysis.linear.points import operating_points
from armillary.cache import kept_per_object
from armillary.control.knot_functions import KnotFunctions, Knots
from armillary.control.plant import input_ports, state_ports
from armillary.errors import ArmillaryError, ParameterError
from armillary.program.sensitivities import outputs_of
from armillary.runtime.models.compiled import CompiledModel
from armillary.untyped import DataMapping

_WHOLE = 2_000_000  # elements up to which all second derivatives are made


class SecondFunctions:
    """Rates and outputs of one model with chosen inputs, compiled with their second derivatives."""

    def __init__(self, model: CompiledModel, inputs: tuple[str, ...], outputs: tuple[str, ...]) -> None:
        equations = model.equations
        equations.check_use("linear model")
        states, steered = state_ports(equations), input_ports(equations, inputs) if inputs else ()
        by_name = {c.name: c for c in equations.targets.columns}
        columns = [by_name[name] for name in outputs_of(equations, outputs)]
        results = [*equations.targets.rates, *(c.expression for c in columns)]
        by = [*states, *steered]
        self.of = tuple([f"{p.name}'" for p in states] + [c.name for c in columns])
        self.by = tuple(p.name for p in by)
        self.above = np.array([p.factor for p in states] + [1.0] * len(columns))
        self.below = np.array([p.factor for p in by])
        self.functions = KnotFunctions(equations, results, [p.symbol for p in by])


@kept_per_object
def _functions(model: CompiledModel, inputs: tuple[str, ...], outputs: tuple[str, ...]) -> SecondFunctions:
    return SecondFunctions(model, inputs, outputs)


def second_derivatives(
    model: CompiledModel,
    at: object = None,
    inputs: Sequence[str] = (),
    outputs: Sequence[str] = (),
    weights: object = None,
    along: object = None,
    parameters: DataMapping | None = None,
) -> np.ndarray:
    """Second derivatives at one place; see ``stages/control.py``, whose verb it is."""
    chosen = (inputs, "inputs="), (outputs, "outputs=")
    made = _functions(model, *(tuple(map(str, several(group, what))) for group, what in chosen))
    points = operating_points(model, at, parameters)
    if not points.single:
        raise ArmillaryError("second_derivatives takes one operating point; call it for each")
    m, n = len(made.of), len(made.by)
    if weights is None:
        if along is None and m * n * n > _WHOLE:
            raise ArmillaryError(
                f"the second derivatives of '{model.equations.system.name}' are {m} × {n} × {n} numbers; "
                "give weights= of rates and outputs, or a direction along="
            )
        rows = np.eye(m) / made.above[:, None]
    else:
        rows = (_vector(weights, made.of, "weights=") / made.above)[None]
    count = len(rows)
    place = Knots(
        np.repeat(points.t, count), np.repeat(points.states, count, axis=0),
        np.repeat(points.memory, count, axis=0), np.empty((count, 0)),
    )  # fmt: skip
    parameters = dict(points.parameters)
    if along is None:
        found = made.functions.dense_hessian(place, rows, parameters) * np.outer(made.below, made.below)
    else:
        direction = np.tile(_vector(along, made.by, "along=") * made.below, (count, 1))
        found = made.functions.hessian_product(place, rows, direction, parameters) * made.below
    if not np.isfinite(found).all():
        where = np.argwhere(~np.isfinite(found))[0]
        of = made.of[where[0]] if weights is None else "the weighted sum"
        raise ArmillaryError(
            f"{of} of '{model.equations.system.name}' has no finite second derivative by "
            f"'{made.by[where[1]]}' at the operating point"
        )
    return found if weights is None else found[0]


def _vector(given: object, names: Sequence[str], what: str) -> np.ndarray:
    """Numbers in order, or by name with the rest zero."""
    if isinstance(given, Mapping):
        unknown = [name for name in given if name not in names]
        if unknown:
            raise ParameterError(f"{what} there is no '{unknown[0]}' among {', '.join(names)}")
        given = [given.get(name, 0.0) for name in names]
    found = np.array(given, dtype=float)
    if found.shape != (len(names),) or not np.isfinite(found).all():
        raise ParameterError(f"{what} needs {len(names)} finite numbers, for {', '.join(names)}")
    return found
