"""The Stanford arm: six bodies, five hinges and a slider, without and with its controller."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

from armillary.stages.model import Model
from armillary.verification.rows import (
    ACCELERATIONS,
    TIGHT,
    TRAJECTORIES,
    States,
    at_most,
    columns,
    counts,
    difference,
    equations,
    example,
    largest,
    largest_difference,
    published,
    reference,
    relative_difference,
)

_SWUNG = {"B.q1": 1.0, "A.u1": 1.0, "D.u1": 2.0, "F.u1": -3.0}
_TABLE = "Sayers (1990), Table 9.6.1"
_ALONE = "functions not counted, as in the source"


def _acceleration_measure(key: str) -> Callable[[Model], Iterator[float]]:
    def _measure_arm(model: Model) -> Iterator[float]:
        states = reference("stanford_arm")["states"]
        found = [model.accelerations(0.0, state["q"], state["u"]) for state in states]
        yield relative_difference(found, [state[key] for state in states])

    return _measure_arm


_STATES = (
    States(
        lambda: example("stanford_arm").system(controller=False), _acceleration_measure("udot_uncontrolled")
    ),
    States(lambda: example("stanford_arm").system(controller=True), _acceleration_measure("udot")),
)


@published(
    "stanford_arm",
    "Stanford arm",
    "Sayers (1990), section 9.6 and Appendix E",
    difference("accelerations at 12 random states, without controller", ACCELERATIONS),
    difference("accelerations at 12 random states, with controller", ACCELERATIONS),
    difference("run of 10 s to the targets, the published scenario: coordinates", TRAJECTORIES),
    difference("the same: speeds", TRAJECTORIES),
    difference("accelerations at the targets, where the controller carries the weight", 1e-12, "balance"),
    difference("energy over 3 s without controller, of that exchanged", 1e-10, "conservation"),
    difference("the same without the shoulder's offset", 1e-10, "conservation"),
    at_most("additions without controller", 240, _TABLE, "AUTOSIM; " + _ALONE),
    at_most("multiplications and divisions without controller", 353, _TABLE),
    at_most("additions with controller", 268, _TABLE),
    at_most("multiplications and divisions with controller", 378, _TABLE),
    page="stanford-arm",
    states=_STATES,
)
def _measure_arm() -> Iterator[float]:
    data, arm = reference("stanford_arm"), example("stanford_arm")
    systems = {controlled: equations("stanford_arm", controller=controlled) for controlled in (False, True)}
    models = {controlled: eom.compile() for controlled, eom in systems.items()}
    for states, model in zip(_STATES, models.values(), strict=True):
        yield from states.measure(model)
    expected = columns(data["trajectory"])
    start = {"B.q1": math.pi / 2}
    run = models[True].simulate(10.0, sample=expected["t"], initial=start, **TIGHT)
    yield largest(
        [largest_difference(run[name], expected[f"q{i}"]) for i, name in enumerate(arm.TARGETS, start=1)]
    )
    speeds = [name.replace("q", "u") for name in arm.TARGETS]
    yield largest(
        [largest_difference(run[name], expected[f"u{i}"]) for i, name in enumerate(speeds, start=1)]
    )
    s = arm.system()
    targets = [s.parameters[name].data.default for name in arm.TARGETS.values()]
    yield largest_difference(models[True].accelerations(0.0, targets, np.zeros(6)), 0.0)
    straight = equations("stanford_arm", controller=False, offset=False).compile()
    for model in (models[False], straight):
        free = model.simulate(3.0, sample=0.01, initial=_SWUNG, **TIGHT)
        yield largest_difference(free["energy"], free["energy"][0]) / (np.ptp(free["tip height"]) * 9.80665)
    for eom in systems.values():
        yield from counts(eom)[:2]
