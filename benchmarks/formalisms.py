"""Every example by every formalism: operations side by side, and the time of those that say the same.

Kane's equations, the recursion, back substitution and momenta describe one motion without approximation;
their compiled functions are timed in turns, at states that correspond, once they agree on the accelerations.
Redundant coordinates have states of another kind and JPL's formulations are approximations: those are counted
only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from armillary.algebra.arguments import core_of
from benchmarks.candidate import DerivativesRecord, Native, Operations, generated, pointer
from benchmarks.published import example_system
from benchmarks.timing import Effort, time_interleaved

EXAMPLES: dict[str, dict[str, Any]] = {
    "array_deployment": {},
    "basilisk_panels": {},
    "bicycle": {},
    "bouncing_ball": {},
    "bowling_ball": {},
    "bricard": {},
    "bump_stop": {},
    "car": {},
    "car_small": {"example": "car", "judgement": "car_small"},
    "cart": {},
    "chain of 16": {"example": "chain", "n": 16, "energy": False},
    "do_mpc_cart_pole": {},
    "double_wishbone": {},
    "fmu_strut": {},
    "five_bar": {},
    "four_bar": {},
    "hub_and_panels": {},
    "integral_control": {},
    "jpl_spinning_rotor": {},
    "jpl_two_bodies": {},
    "lane_change": {},
    "momentum_tree": {},
    "pendulum": {},
    "rolling_disc": {},
    "slider_crank": {},
    "slosh": {},
    "spacecraft_1": {},
    "spacecraft_1_small": {"example": "spacecraft_1", "judgement": "spacecraft_1_small"},
    "spacecraft_2": {},
    "spinning_boom": {},
    "spinning_top": {},
    "swing_up": {},
    "tumbling_box": {},
    "stanford_arm": {},
    "steered_car": {},
    "stewart_platform": {},
}
"""Titles, which are files of examples/ unless `example` says so, and options of their `system` functions."""
EQUIVALENT = ("kane", "recursive", "back_substitution", "momentum")
CHOSEN_FROM = ("kane", "recursive")
"""What "auto" tries; the others have states of their own, or are approximations, or cost more."""
STATES = 8
AGREEMENT = 1e-9


def compare_examples(titles: Sequence[str], effort: Effort) -> list[dict[str, Any]]:
    """One record for each example; an example that fails is reported, and the run goes on."""
    found = []
    for title in titles:
        try:
            found.append(compare(title, effort, **EXAMPLES[title]))
        except Exception as error:
            found.append({"title": title, "missing": f"{type(error).__name__}: {error}"})
    return found


def compare(title: str, effort: Effort, *, example: str = "", **options: Any) -> dict[str, Any]:
    from armillary.errors import ArmillaryError  # here, because Armillary itself may fail to import
    from armillary.program.derive import FORMALISMS

    described = example_system(example or title, **options)
    record: dict[str, Any] = {
        "title": title,
        "speeds": len(described.speeds),
        "operations": {},
        "refused": {},
    }
    equations = {}
    for name in FORMALISMS:
        try:
            equations[name] = described.derive(name)
        except ArmillaryError as error:
            record["refused"][name] = str(error).splitlines()[0]
    record["operations"] = {name: asdict(Operations.of(e)) for name, e in equations.items()}
    record["auto"] = described.derive().formalism
    models = {name: equations[name].compile() for name in EQUIVALENT if name in equations}
    states = corresponding(models)
    first, *others = models
    wanted = accelerations(models[first], states[first], states[first])
    record["differences"] = {
        name: difference(accelerations(models[name], states[first], states[name]), wanted) for name in others
    }
    # What is declared small is neglected by each formalism where it meets it: they differ in its square.
    bound = np.inf if options.get("judgement") else AGREEMENT
    record["wrong"] = {name: worst for name, worst in record["differences"].items() if worst > bound}
    right = [name for name in models if name not in record["wrong"]]
    timings = time_interleaved([candidate(models[name], states[name]) for name in right], effort)
    record["nanoseconds"] = {name: timing.minimum for name, timing in zip(right, timings, strict=True)}
    record["median_nanoseconds"] = {name: timing.median for name, timing in zip(right, timings, strict=True)}
    return record


def corresponding(models: dict[str, Any]) -> dict[str, np.ndarray]:
    """Equal positions and motions near each example's own start, as states of each model.

    The angles of closed loops stay as assembled, since not every set of them closes.
    """
    rng = np.random.default_rng(7)
    first = next(iter(models.values()))
    start = first.state()
    names = (*first.coordinate_names, *first.speed_names, *first.state_names)
    looped = bool(first.equations.dependents)
    pool: dict[str, list[np.ndarray]] = {name: [] for name in models}
    for _ in range(STATES):
        values = start + 0.1 * rng.uniform(-1, 1, len(names))
        speeds = dict(list(zip(names, values.tolist(), strict=True))[len(first.coordinate_names) :])
        for name, model in models.items():
            pool[name].append(model.state(speeds if looped else values))
    return {name: np.ascontiguousarray(states) for name, states in pool.items()}


def accelerations(model: Any, speeds: np.ndarray, states: np.ndarray) -> np.ndarray:
    """Rates of the speeds; `speeds` are states [q, u, the user's own], `states` the model's own."""
    nq, nu = len(model.coordinate_names), len(model.speed_names)
    if model.formalism == "momentum":
        return np.array(
            [model.accelerations(0.0, y[:nq], y[nq : nq + nu], states=y[nq + nu :]) for y in speeds]
        )
    return np.array([model.derivatives(0.0, y)[nq : nq + nu] for y in states])


def difference(found: np.ndarray, wanted: np.ndarray) -> float:
    scale = np.maximum(1.0, np.abs(wanted).max(axis=1, keepdims=True))
    worst = float((np.abs(found - wanted) / scale).max())
    return worst if np.isfinite(worst) else float("inf")


def candidate(model: Any, states: np.ndarray, function: int = 0) -> Native:
    """The derivatives of a model at these states, or another ``function`` with its arguments."""
    from armillary.runtime.start.initial import initial_memory

    constants = np.tile(model.constants(), (len(states), 1))
    memory = np.append(initial_memory(core_of(model.equations)), 0.0)
    arrays = (states, constants, memory, np.zeros(states.shape[1]))
    nq = len(model.coordinate_names)
    record = DerivativesRecord(
        function or model.address("derivatives"), len(states), nq, states.shape[1] - nq, constants.shape[1],
        *map(pointer, arrays),
    )  # fmt: skip
    return generated(
        "derivatives", model.formalism, record, (model, *arrays), operations=Operations.of(model.equations),
        derive_seconds=0.0, compile_seconds=model.compile_seconds,
    )  # fmt: skip
